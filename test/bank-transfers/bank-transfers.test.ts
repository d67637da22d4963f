import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { ok } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, createWorld, type World } from '../support/world.ts'
import { bankActions, day, hour, minute } from './bank.ts'

onEachDatabase('bank transfers', (database) => {
  let world: World
  let bank: ReturnType<typeof bankActions>

  beforeEach(async () => {
    world = await createWorld(database)
    bank = bankActions(world)
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  test("an agent that may not read a transfer or payment cannot simulate the transfer's bank or the payment's recipient", async () => {
    const { partyId } = await world.whoami()
    const [wallet] = ok(await world.get('/wallets')).json.data
    const { agentKey: key } = await addAgent(world, partyId, wallet.id, ['cards.read'])
    const { id } = await bank.deposit(5000, await bank.link())
    const counterparty = { type: 'email', value: 'nobody@example.com' }
    const payment = ok(await world.post('/payments', { amount: 77, counterparty })).json.data.id
    for (const action of ['settle', 'fail', 'return'])
      expectRefusal(await bank.simulate(id, action, undefined, { key }), 'forbidden')
    expectRefusal(await world.send('POST', `/simulations/payments/${payment}/complete-claim`, { key }), 'forbidden')
    expect((await bank.read(id)).attributes.status).toBe('PROCESSING')
  })

  describe('deposits', () => {
    test('a deposit arrives on the second banking day, and not before', async () => {
      const account = await bank.link()
      const transfer = await bank.deposit(5000, account, { description: 'Rent', tags: { of: 'May' } })
      expect(transfer).toMatchObject({
        type: 'transfer',
        id: expect.stringMatching(/^tfr_[0-9a-f]{32}$/),
        attributes: {
          type: 'deposit',
          amount: 5000,
          status: 'PROCESSING',
          method: 'standard',
          rail: 'ach',
          description: 'Rent',
          tags: { of: 'May' },
          externalAccountDisplayMask: '••••0000',
          // Friday is the first banking day. Tuesday is the second, because Monday is Martin Luther King Jr. Day.
          expectedAvailableAt: '2026-01-20T14:00:00.000Z',
          failure: null,
          return: null,
          submittedAt: '2026-01-15T12:00:00.000Z',
          settledAt: null,
        },
        relationships: { externalAccount: { data: { id: account } }, transaction: { data: null } },
      })
      expect(await bank.balance()).toEqual({ available: 250_000, total: 250_000, currency: 'USD' })
      expect(ok(await world.get('/transactions')).json.data).toEqual([])

      world.system.pass(5 * day + 2 * hour - 1)
      expect(await bank.balance()).toMatchObject({ available: 250_000 })
      world.system.pass(1)
      expect(await bank.balance()).toMatchObject({ available: 255_000, total: 255_000 })
      const { attributes, relationships } = await bank.read(transfer.id)
      expect(attributes).toMatchObject({ status: 'COMPLETED', settledAt: '2026-01-20T14:00:00.000Z' })
      const [transaction] = ok(await world.get('/transactions')).json.data
      expect(relationships.transaction.data.id).toBe(transaction.id)
      expect(transaction.attributes).toMatchObject({ direction: 'INBOUND', amount: 5000, status: 'COMPLETED' })
    })

    test('a deposit that the bank refuses adds nothing to the wallet', async () => {
      const account = await bank.link('processor-sandbox-deposits-fail')
      const { id } = await bank.deposit(5000, account)
      world.system.pass(7 * day)
      expect((await bank.read(id)).attributes).toMatchObject({
        status: 'FAILED',
        failure: { code: 'R01', reason: 'Insufficient funds' },
        settledAt: null,
      })
      expect(await bank.balance()).toMatchObject({ available: 250_000 })
      expect(ok(await world.get('/transactions')).json.data).toEqual([])
    })

    test('a deposit that the bank returns later can leave the wallet below zero; the wallet can then only receive money', async () => {
      const account = await bank.link('processor-sandbox-deposits-return')
      const { id } = await bank.deposit(5000, account)
      world.system.pass(6 * day)
      expect((await bank.read(id)).attributes).toMatchObject({ status: 'COMPLETED', return: null })
      expect((await bank.withdraw(254_000, account, { method: 'instant' })).attributes.status).toBe('PROCESSING')
      expect(await bank.balance()).toMatchObject({ available: 1000, total: 255_000 })

      world.system.pass(10 * day)
      expect((await bank.read(id)).attributes).toMatchObject({
        status: 'RETURNED',
        return: { code: 'R10', reason: 'Customer advises not authorized', returnedAt: '2026-01-22T14:00:00.000Z' },
      })
      expect(await bank.balance()).toMatchObject({ available: -4000, total: -4000 })
      const transactions = ok(await world.get('/transactions')).json.data
      expect(transactions.at(-1).attributes).toMatchObject({ direction: 'INBOUND', status: 'RETURNED' })

      const refused = await world.post('/payments', {
        amount: 100,
        counterparty: { type: 'email', value: 'a@b.example' },
      })
      expectRefusal(refused, 'conflict')
      expect(refused.json.errors[0].detail).toContain('$40.00 below zero')
      ok(await bank.fund(3000))
      expect(await bank.balance()).toMatchObject({ available: -1000 })
      ok(await bank.fund(3000))
      expect(await bank.balance()).toMatchObject({ available: 2000 })
    })

    test('the bank can still return a deposit that a simulation settled early', async () => {
      const account = await bank.link('processor-sandbox-deposits-return')
      const { id } = await bank.deposit(5000, account)
      const simulate = (action: string) => world.send('POST', `/simulations/transfers/${id}/${action}`)
      expect(ok(await simulate('settle')).json.data.attributes.status).toBe('COMPLETED')
      expectRefusal(await simulate('settle'), 'conflict')
      expectRefusal(await simulate('fail'), 'conflict')
      expect(await bank.balance()).toMatchObject({ available: 255_000 })
      // The bank returns the deposit on the second banking day after Thursday's settlement. That is Tuesday, because
      // Monday is Martin Luther King Jr. Day.
      world.system.pass(5 * day + 2 * hour)
      expect((await bank.read(id)).attributes).toMatchObject({
        status: 'RETURNED',
        return: { code: 'R10', returnedAt: '2026-01-20T14:00:00.000Z' },
      })
      expectRefusal(await simulate('return'), 'conflict')
      expect(await bank.balance()).toMatchObject({ available: 250_000 })
    })

    test('a deposit from a disconnected account is refused with advice', async () => {
      const account = await bank.link()
      ok(await bank.disconnect(account, 'login_required'))
      const refused = await bank.tryDeposit(5000, account)
      expectRefusal(refused, 'conflict', { connectionStatus: 'login_required' })
      expect(refused.json.errors[0].detail).toContain('Link it again with link_external_accounts')
      // Money can still be withdrawn to the account.
      expect((await bank.withdraw(100, account)).attributes.status).toBe('PROCESSING')
      await bank.link()
      expect((await bank.deposit(5000, account)).attributes.status).toBe('PROCESSING')
    })
  })

  describe('withdrawals', () => {
    test.each([
      ['standard', 'ach', '2026-01-16T14:00:00.000Z'],
      ['wire', 'wire', '2026-01-15T14:00:00.000Z'],
      ['instant', 'rtp', '2026-01-15T12:05:00.000Z'],
    ])('a withdrawal (%s) is held until the bank settles it', async (method, rail, expectedAvailableAt) => {
      const account = await bank.link()
      const transfer = await bank.withdraw(5000, account, { method })
      expect(transfer.attributes).toMatchObject({ type: 'withdrawal', status: 'PROCESSING', method, rail })
      expect(transfer.attributes).toMatchObject({ expectedAvailableAt, externalAccountDisplayMask: '••••0000' })
      expect(await bank.balance()).toMatchObject({ available: 245_000, total: 250_000 })
      world.system.pass(Date.parse(expectedAvailableAt) - world.system.now() - 1)
      expect(await bank.balance()).toMatchObject({ available: 245_000, total: 250_000 })
      world.system.pass(1)
      expect(await bank.balance()).toMatchObject({ available: 245_000, total: 245_000 })
      expect((await bank.read(transfer.id)).attributes).toMatchObject({
        status: 'COMPLETED',
        settledAt: expectedAvailableAt,
      })
    })

    test('the amount of a withdrawal that the bank refuses is available again', async () => {
      const account = await bank.link('processor-sandbox-withdrawals-fail')
      const { id } = await bank.withdraw(5000, account)
      world.system.pass(day + 3 * hour)
      expect((await bank.read(id)).attributes).toMatchObject({ status: 'FAILED', failure: { code: 'R02' } })
      expect(await bank.balance()).toMatchObject({ available: 250_000, total: 250_000 })
    })

    test('the amount of a withdrawal that the bank returns is credited to the wallet again', async () => {
      const account = await bank.link('processor-sandbox-withdrawals-return')
      const { id } = await bank.withdraw(5000, account, { method: 'instant' })
      world.system.pass(5 * minute)
      expect(await bank.balance()).toMatchObject({ available: 245_000, total: 245_000 })
      world.system.pass(10 * day)
      expect((await bank.read(id)).attributes).toMatchObject({ status: 'RETURNED', return: { code: 'R23' } })
      expect(await bank.balance()).toMatchObject({ available: 250_000, total: 250_000 })
    })

    test('a withdrawal above the balance is refused', async () => {
      const account = await bank.link()
      const refused = await bank.tryWithdraw(250_001, account)
      expectRefusal(refused, 'conflict', { source: { pointer: '/data/attributes/amount' } })
      expect(refused.json.errors[0].detail).toContain('Insufficient funds')
    })
  })
})
