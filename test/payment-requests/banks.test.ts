import { afterEach, beforeEach, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { idOf, type PaymentRequestCalls, paymentRequestCalls } from './calls.ts'

const days = (count: number) => count * 24 * 60 * 60_000

onEachDatabase('payment requests paid from a bank account', (database) => {
  let world: World
  let money: Payer
  let requests: PaymentRequestCalls
  let other: OtherParty
  let theirs: { key: string }
  let before: number

  beforeEach(async () => {
    world = await createWorld(database)
    money = payer(world)
    requests = paymentRequestCalls(world)
    other = await addParty(world)
    theirs = { key: other.apiKey }
    before = (await money.balance()).available
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const link = async (kind = 'accounts') => {
    const linked = await world.post(
      '/external-accounts/processor-token',
      { processorToken: `processor-sandbox-${kind}` },
      theirs,
    )
    return ok(linked).json.data[0].id as string
  }
  const ask = async (amount = 5000) => idOf(await requests.ask(amount, { type: 'party_id', value: other.partyId }))
  const pay = (id: string, externalAccountId: string) => {
    const paymentSource = { type: 'external_account', externalAccountId }
    return world.post(`/payment-requests/${id}/fulfill`, { paymentSource }, theirs)
  }
  const available = async (key: string) => (await money.balance({ key })).available

  test('a request paid from a bank account is PROCESSING until the bank settles; the payer’s wallets are not charged', async () => {
    const id = await ask()
    const paid = ok(await pay(id, await link())).json.data
    expect(paid.attributes.status).toBe('PROCESSING')
    expect(await requests.statusOf(id)).toBe('PROCESSING')
    expectRefusal(await requests.cancel(id), 'conflict')
    expect(await available(world.apiKey)).toBe(before)
    // The request is paid on a Thursday. The second banking day after that is Tuesday, because Monday is a holiday.
    world.system.pass(days(5) + 2 * 60 * 60_000 - 1)
    expect(await requests.statusOf(id, other.apiKey)).toBe('PROCESSING')
    world.system.pass(1)
    expect(await requests.statusOf(id, other.apiKey)).toBe('COMPLETED')
    expect(await requests.statusOf(id)).toBe('COMPLETED')
    expect(await available(world.apiKey)).toBe(before + 5000)
    expect(await available(other.apiKey)).toBe(100_000)
    const transactionId = ok(await requests.read(id)).json.data.attributes.transactionId
    for (const key of [world.apiKey, other.apiKey, other.agentKey]) {
      const seen = ok(await world.get(`/transactions/${transactionId}`, { key })).json.data
      expect(seen).toMatchObject({
        attributes: { amount: 5000 },
        relationships: { payment: { data: { id: paid.id } } },
      })
    }
  })

  test('a request becomes FAILED if the bank refuses its payment, and RETURNED if the bank sends the money back', async () => {
    const [failing, returning] = [await ask(), await ask(300_000)]
    ok(await pay(failing, await link('deposits-fail')))
    ok(await pay(returning, await link('deposits-return')))
    world.system.pass(days(6))
    expect(await requests.statusOf(failing, other.apiKey)).toBe('FAILED')
    expect(await requests.statusOf(returning, other.apiKey)).toBe('COMPLETED')
    expect(await available(world.apiKey)).toBe(before + 300_000)
    // The payee spends the money before the bank sends it back to the payer.
    ok(await money.pay(before + 299_000, { type: 'party_id', value: other.partyId }, {}, { key: world.apiKey }))
    world.system.pass(days(6))
    expect(await requests.statusOf(returning, other.apiKey)).toBe('RETURNED')
    expect(await available(world.apiKey)).toBe(1000 - 300_000)
    expectRefusal(await pay(failing, await link()), 'conflict')
    expect(await requests.sent('?includeCompleted=true')).toHaveLength(2)
  })

  test('a request above the payer’s limit waits for the approval, and then for the bank', async () => {
    await money.setLimits('parties', other.partyId, { perTransaction: 1000 })
    const id = await ask()
    const { data } = ok(await pay(id, await link())).json
    expect(data.attributes.status).toBe('IN_REVIEW')
    expect(await requests.statusOf(id)).toBe('PROCESSING')
    ok(await money.approve((await money.approvalOf(data.id, theirs)).id, theirs))
    expect(await money.status(data.id, theirs)).toBe('PROCESSING')
    expect(await requests.statusOf(id)).toBe('PROCESSING')
    world.system.pass(days(6))
    expect(await requests.statusOf(id, other.apiKey)).toBe('COMPLETED')
  })

  test('a request whose payment is in review becomes open again when the bank account is unlinked', async () => {
    await money.setLimits('parties', other.partyId, { perTransaction: 1000 })
    const [id, account] = [await ask(), await link()]
    ok(await pay(id, account))
    ok(await world.send('DELETE', `/external-accounts/${account}`, theirs))
    expect(await requests.statusOf(id)).toBe('OPEN')
    expectRefusal(await pay(id, account), 'conflict', { connectionStatus: 'disconnected' })
    expectRefusal(await pay(id, 'eac_none'), 'not_found', {
      source: { pointer: '/data/attributes/paymentSource/externalAccountId' },
    })
    await money.freeze((await world.whoami(world.apiKey)).partyId)
    expectRefusal(await pay(id, await link()), 'conflict')
  })
})
