import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addDelegation, addParty, createWorld, type World } from '../support/world.ts'
import { bankActions, day, hour } from './bank.ts'

onEachDatabase('approvals of bank transfers', (database) => {
  let world: World
  let self: Payer
  let bank: ReturnType<typeof bankActions>
  let account: string

  beforeEach(async () => {
    world = await createWorld(database)
    self = payer(world)
    bank = bankActions(world)
    account = await bank.link()
    await self.setLimits('agents', String((await world.whoami()).agentId), { perTransaction: 1000, perDay: 3000 })
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  describe.each(['deposit', 'withdrawal'] as const)('a %s above a limit', (kind) => {
    const start = (amount: number) => (kind === 'deposit' ? bank.deposit : bank.withdraw)(amount, account)

    test('the transfer waits for an approval, and then for the bank', async () => {
      const { id, attributes } = await start(1001)
      expect(attributes).toMatchObject({ status: 'IN_REVIEW', submittedAt: null, expectedAvailableAt: null })
      expect(await bank.balance()).toMatchObject({ available: 250_000, total: 250_000 })
      const approval = await self.approvalOf(id)
      expect(approval.attributes).toMatchObject({
        status: 'pending',
        target: { type: kind, id },
        payment: { amount: 1001 },
        wire: null,
        reasons: [{ limitType: 'perTransactionAmount', limitAmount: 1000, actualAmount: 1001 }],
      })
      // The bank has not received the transfer yet, so the bank cannot settle it.
      expectRefusal(await bank.simulate(id, 'settle'), 'conflict')
      world.system.pass(day)
      ok(await self.approve(approval.id, { key: world.apiKey }))
      const { attributes: approved } = await bank.read(id)
      expect(approved).toMatchObject({ status: 'PROCESSING', submittedAt: '2026-01-16T12:00:00.000Z' })
      expect(await bank.balance()).toMatchObject({ available: kind === 'deposit' ? 250_000 : 248_999, total: 250_000 })
      ok(await bank.simulate(id, 'settle'))
      expect(await bank.balance()).toMatchObject({ total: kind === 'deposit' ? 251_001 : 248_999 })
    })

    test('a denied transfer moves no money', async () => {
      const { id } = await start(1001)
      ok(await self.deny((await self.approvalOf(id)).id, { reason: 'No.' }, { key: world.apiKey }))
      expect((await bank.read(id)).attributes).toMatchObject({ status: 'APPROVAL_DENIED', failure: null })
      world.system.pass(9 * day)
      expect(await bank.balance()).toMatchObject({ available: 250_000, total: 250_000 })
    })

    test('the transfer and its approval are canceled when the bank account is unlinked', async () => {
      const [{ id }, processing] = [await start(1001), await start(900)]
      ok(await bank.unlink(account))
      expect((await bank.read(id)).attributes.status).toBe('CANCELED')
      expect((await self.approvalOf(id)).attributes).toMatchObject({ status: 'canceled', denialReason: null })
      expectRefusal(await self.approve((await self.approvalOf(id)).id, { key: world.apiKey }), 'conflict')
      // The bank completes the transfer that it received before the account was unlinked.
      world.system.pass(9 * day)
      expect((await bank.read(processing.id)).attributes.status).toBe('COMPLETED')
      const again = kind === 'deposit' ? await bank.tryDeposit(100, account) : await bank.tryWithdraw(100, account)
      expectRefusal(again, 'conflict', { connectionStatus: 'disconnected' })
    })

    test('a transfer above the daily limit waits for an approval; failed transfers do not count toward the limit', async () => {
      const first = await start(1000)
      await start(1000)
      await start(1000)
      expect((await start(100)).attributes.status).toBe('IN_REVIEW')
      ok(await bank.simulate(first.id, 'fail'))
      expect((await start(1000)).attributes.status).toBe('PROCESSING')
    })
  })

  test('a deposit cannot be approved while its bank account is disconnected', async () => {
    const { id } = await bank.deposit(1001, account)
    ok(await bank.disconnect(account, 'disconnected'))
    const approval = await self.approvalOf(id)
    const refused = await self.approve(approval.id, { key: world.apiKey })
    expectRefusal(refused, 'conflict', { connectionStatus: 'disconnected' })
    expect((await bank.read(id)).attributes.status).toBe('IN_REVIEW')
    await bank.link()
    ok(await self.approve(approval.id, { key: world.apiKey }))
    expect((await bank.read(id)).attributes.status).toBe('PROCESSING')
  })

  test('a simulated bank refuses or returns a transfer for the given reason', async () => {
    const [first, second] = [await bank.withdraw(500, account), await bank.withdraw(500, account)]
    const reason = { code: 'R16', reason: 'Account frozen' }
    expect(ok(await bank.simulate(first.id, 'fail', reason)).json.data.attributes.failure).toEqual(reason)
    ok(await bank.simulate(second.id, 'settle'))
    expect(ok(await bank.simulate(second.id, 'return', reason)).json.data.attributes).toMatchObject({
      status: 'RETURNED',
      failure: null,
      return: { ...reason, returnedAt: '2026-01-15T12:00:00.000Z' },
    })
    expectRefusal(await bank.simulate(second.id, 'return', reason), 'conflict')
    const internal = await world.post('/transfers/internal', {
      amount: 5,
      sourceWalletId: ok(await world.get('/wallets')).json.data[0].id,
      destWalletId: await secondWallet(),
    })
    expectRefusal(await bank.simulate(ok(internal).json.data.id, 'return'), 'conflict')
  })

  test('a repeat with the same idempotency key moves no money', async () => {
    const idempotencyKey = 'one key for both'
    const first = await bank.tryWithdraw(900, account, {}, { idempotencyKey })
    const again = await bank.tryWithdraw(900, account, {}, { idempotencyKey })
    expect(again.text).toBe(first.text)
    expect(await bank.balance()).toMatchObject({ available: 249_100 })
    const { id } = ok(first).json.data
    const key = { key: world.apiKey, idempotencyKey: 'one settlement' }
    expect((await bank.simulate(id, 'settle', undefined, key)).text).toBe(
      (await bank.simulate(id, 'settle', undefined, key)).text,
    )
    expect(await bank.balance()).toMatchObject({ available: 249_100, total: 249_100 })
  })

  test("an agent moves a customer's money between the customer's own accounts, if the grant allows it", async () => {
    const { partyId: agentPartyId, agentId } = await world.whoami()
    const customer = await addParty(world, { fundsCents: 5000 })
    const asCustomer = { key: customer.apiKey }
    const customerAccount = await bank.link(undefined, asCustomer)
    const permissions = JSON.stringify(['wallets.read', 'wallets.deposit'])
    const to = { customerPartyId: customer.partyId, agentPartyId, agentId: String(agentId), permissions }
    await addDelegation(world, to)
    const forCustomer = { customerPartyId: customer.partyId }
    const transfer = await bank.deposit(700, customerAccount, forCustomer)
    expect(transfer.relationships.party.data.id).toBe(customer.partyId)
    expectRefusal(await bank.tryWithdraw(700, customerAccount, forCustomer), 'forbidden', {
      source: { pointer: '/data/attributes/customerPartyId' },
    })
    // `account` belongs to the agent's own party, not to the customer.
    expectRefusal(await bank.tryDeposit(700, account, forCustomer), 'not_found', {
      source: { pointer: '/data/attributes/externalAccountId' },
    })
    expect(ok(await bank.simulate(transfer.id, 'settle', undefined, {})).json.data.attributes.status).toBe('COMPLETED')
    expectRefusal(await bank.simulate(transfer.id, 'return'), 'not_found')
  })

  test('no deposit or withdrawal can start on a frozen wallet, but a deposit in progress is completed', async () => {
    const { id } = await bank.deposit(900, account)
    const { partyId } = await world.whoami()
    await self.freeze(partyId)
    expectRefusal(await bank.tryDeposit(900, account), 'conflict')
    expectRefusal(await bank.tryWithdraw(900, account), 'conflict')
    world.system.pass(5 * day + 2 * hour)
    expect((await bank.read(id)).attributes.status).toBe('COMPLETED')
    expect(await bank.balance()).toMatchObject({ available: 250_900 })
  })

  async function secondWallet(): Promise<string> {
    const { id } = ok(await world.post('/wallets', { displayName: 'Other' }, { key: world.apiKey })).json.data
    const { agentId } = await world.whoami()
    ok(await world.post(`/wallets/${id}/agents`, { agentId }, { key: world.apiKey }))
    return id
  }
})
