import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  nextRequestStatus,
  type PaymentRequestEvent,
  paymentRequestTransitions,
} from '../../src/service/rules/payment-requests.ts'
import { paymentRequestStatuses } from '../../tools/payment-requests.ts'
import { proveBooks } from '../ledger/books.ts'
import { ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addDelegation, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { idOf, type PaymentRequestCalls, paymentRequestCalls } from './calls.ts'

const events = ['begin', 'pay', 'fail', 'return', 'reopen', 'decline', 'cancel', 'expire'] as const
const everyEvent: Record<PaymentRequestEvent, true> = Object.fromEntries(
  events.map((event) => [event, true]),
) as Record<PaymentRequestEvent, true>

test('a payment request accepts only the events in the table for its status, and refuses others with the reason', () => {
  let allowed = 0
  for (const status of paymentRequestStatuses) {
    for (const event of Object.keys(everyEvent) as PaymentRequestEvent[]) {
      const after = (paymentRequestTransitions[status] as Partial<Record<string, string>>)[event]
      if (after === undefined) {
        expect(() => nextRequestStatus(status, event)).toThrow(`The payment request is ${status}: `)
      } else {
        allowed += 1
        expect(nextRequestStatus(status, event)).toBe(after)
      }
    }
  }
  expect(allowed).toBe(9)
})

onEachDatabase('the status of a payment request', (database) => {
  let world: World
  let money: Payer
  let requests: PaymentRequestCalls
  let other: OtherParty
  let payerWalletId: string
  let theirs: { key: string }

  beforeEach(async () => {
    world = await createWorld(database)
    money = payer(world)
    requests = paymentRequestCalls(world)
    other = await addParty(world, { party: { email: 'other@example.com' } })
    theirs = { key: other.apiKey }
    payerWalletId = await requests.walletIdOf(other.apiKey)
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const askOther = async (amount = 1500) => idOf(await requests.ask(amount, { type: 'party_id', value: other.partyId }))
  const eventTypesOf = (partyId: string, resourceId: string) =>
    world.store.transaction(async ({ db }) => {
      const eventTypes = db.selectFrom('events').select('type').where('partyId', '=', partyId)
      const rows = await eventTypes.where('resourceId', '=', resourceId).orderBy('sequence').execute()
      return rows.map(({ type }) => type.replace('payment_request.', ''))
    })

  test('a request above the payer’s limit is PROCESSING while its payment is in review, and OPEN again if its payment is denied or canceled', async () => {
    await money.setLimits('parties', other.partyId, { perTransaction: 1000 })
    const id = await askOther()
    const review = async () => {
      const { data } = ok(await requests.fulfill(id, payerWalletId, theirs)).json
      expect(data.attributes.status).toBe('IN_REVIEW')
      expect(await requests.statusOf(id)).toBe('PROCESSING')
      return data.id as string
    }
    const approvalId = async (paymentId: string) => (await money.approvalOf(paymentId, theirs)).id as string
    const first = await review()
    expectRefusal(await requests.fulfill(id, payerWalletId, theirs), 'conflict')
    expectRefusal(await requests.decline(id, theirs), 'conflict')
    expectRefusal(await requests.cancel(id), 'conflict')
    expect(await requests.incoming(other.apiKey)).toEqual([id])
    ok(await money.deny(await approvalId(first), { reason: 'Too much' }, theirs))
    expect(await requests.statusOf(id)).toBe('OPEN')
    expect(ok(await requests.read(id)).json.data.relationships.payment.data).toBeNull()
    ok(await money.cancel(await review(), theirs))
    expect(await requests.statusOf(id)).toBe('OPEN')
    const last = await review()
    ok(await money.approve(await approvalId(last), theirs))
    expect(await requests.statusOf(id)).toBe('COMPLETED')
    expect(await money.balance(theirs)).toMatchObject({ available: 98_500 })
    const steps = ['processing', 'reopened', 'processing', 'reopened', 'processing', 'completed']
    expect(await eventTypesOf((await world.whoami(world.apiKey)).partyId, id)).toEqual(['created', ...steps])
    expect(await eventTypesOf(other.partyId, id)).toEqual(['incoming', ...steps])
  })

  test('a request expires at once if its payment is denied after more than 30 days', async () => {
    await money.setLimits('parties', other.partyId, { perTransaction: 1000 })
    const id = await askOther()
    const paymentId = ok(await requests.fulfill(id, payerWalletId, theirs)).json.data.id
    world.system.pass(31 * 24 * 60 * 60_000)
    expect(await requests.statusOf(id)).toBe('PROCESSING')
    ok(await money.deny((await money.approvalOf(paymentId, theirs)).id, undefined, theirs))
    expect(await requests.statusOf(id, other.apiKey)).toBe('EXPIRED')
    expect(await requests.statusOf(id)).toBe('EXPIRED')
    expect((await eventTypesOf(other.partyId, id)).at(-1)).toBe('expired')
  })

  test('a request stays open if its payment fails for lack of funds, or because the requester’s wallet is frozen', async () => {
    const id = await askOther(100_001)
    expectRefusal(await requests.fulfill(id, payerWalletId, theirs), 'conflict')
    const small = await askOther(10)
    const { partyId } = await world.whoami(world.apiKey)
    await money.freeze(partyId)
    expectRefusal(await requests.fulfill(small, payerWalletId, theirs), 'conflict')
    expectRefusal(await requests.simulateFulfillment(small), 'conflict')
    expectRefusal(await requests.ask(10, { type: 'party_id', value: other.partyId }), 'conflict')
    await money.freeze(partyId, 'active')
    expectRefusal(await requests.fulfill(small, 'wal_none', theirs), 'not_found', {
      source: { pointer: '/data/attributes/paymentSource/walletId' },
    })
    for (const one of [id, small]) expect(await requests.statusOf(one)).toBe('OPEN')
  })

  test('simultaneous payments of a request pay it at most once', async () => {
    const id = await askOther(100)
    const before = await money.balance()
    const sent = { ...theirs, idempotencyKey: 'the same' }
    const payments = [sent, sent, theirs, theirs].map((by) => requests.fulfill(id, payerWalletId, by))
    const decline = requests.decline(id, theirs)
    const statuses = (await Promise.all([...payments, decline])).map(({ status }) => status)
    expect(statuses.some((status) => status === 200)).toBe(true)
    const { attributes } = ok(await requests.read(id)).json.data
    const paid = attributes.status === 'COMPLETED' ? 100 : 0
    expect(await money.balance(theirs)).toMatchObject({ available: 100_000 - paid })
    expect(await money.balance()).toMatchObject({ available: before.available + paid })
  })

  test('a request to an email address becomes visible to the party that later joins with that address', async () => {
    const id = idOf(await requests.ask(700, { type: 'email', value: 'New@Example.org' }))
    expect(ok(await requests.read(id)).json.data.attributes.payerPartyId).toBeNull()
    const joined = await addParty(world, { party: { email: 'new@example.org' } })
    expect(await requests.incoming(joined.apiKey)).toEqual([id])
    expect(ok(await requests.read(id)).json.data.attributes.payerPartyId).toBe(joined.partyId)
    expect(await eventTypesOf(joined.partyId, id)).toEqual(['incoming'])
    ok(await requests.decline(id, { key: joined.apiKey }))
  })

  test('if a payer has credentials, nobody can simulate that the payer pays or declines a request', async () => {
    const id = await askOther()
    for (const play of [requests.simulateFulfillment, requests.simulateDecline]) {
      expectRefusal(await play(id, theirs), 'not_found')
    }
    // An agent of the requester cannot simulate this either, even with a grant from the payer.
    const { partyId: agentPartyId, agentId } = await world.whoami()
    const permissions = JSON.stringify(['payments.read'])
    await addDelegation(world, { customerPartyId: other.partyId, agentPartyId, agentId: agentId ?? '', permissions })
    for (const play of [requests.simulateFulfillment, requests.simulateDecline]) {
      expectRefusal(await play(id, { key: world.agentKey }), 'conflict')
    }
    expect(await requests.statusOf(id)).toBe('OPEN')
  })

  test('a simulated payment of a request does not charge the payer’s wallets, and ignores the payer’s limits', async () => {
    const customer = await world.customerPartyId()
    await money.setLimits('parties', customer, { perTransaction: 1, perDay: 1 })
    const id = idOf(await requests.ask(5000, { type: 'party_id', value: customer }))
    const before = await money.balance()
    const paid = ok(await requests.simulateFulfillment(id)).json.data
    expect(paid).toMatchObject({ attributes: { status: 'COMPLETED' }, relationships: { recipient: { data: {} } } })
    expect(await money.balance()).toMatchObject({ available: before.available + 5000 })
    const [arrived] = ok(await world.get('/transactions', { key: world.apiKey })).json.data
    expect(arrived).toMatchObject({
      attributes: { amount: 5000, direction: 'INBOUND' },
      relationships: { sourceParty: { data: { id: customer } }, payment: { data: { id: paid.id } } },
    })
    expectRefusal(await requests.simulateFulfillment(id), 'conflict')
  })

  test('completed and canceled requests are listed only if the query includes them', async () => {
    const ids: string[] = []
    for (let count = 0; count < 3; count++) {
      ids.push(await askOther())
      world.system.pass(1)
    }
    const [open = '', declined = '', paid = ''] = ids
    ok(await requests.decline(declined, theirs))
    ok(await requests.fulfill(paid, payerWalletId, theirs))
    expect(await requests.sent()).toEqual([open])
    expect(await requests.sent('?includeCompleted=true')).toEqual([paid, open])
    expect(await requests.sent('?includeCanceled=true&includeCompleted=false')).toEqual([declined, open])
    expect(await requests.sent('?includeCanceled=true&includeCompleted=true')).toEqual([paid, declined, open])
    expectRefusal(await world.get('/payment-requests?includeCanceled=yes'), 'invalid_value', {
      status: 400,
      source: { parameter: 'includeCanceled' },
    })
  })
})
