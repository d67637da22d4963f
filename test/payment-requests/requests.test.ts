import { afterEach, beforeEach, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { idOf, type PaymentRequestCalls, paymentRequestCalls } from './calls.ts'

const dayMs = 24 * 60 * 60_000

onEachDatabase('payment requests', (database) => {
  let world: World
  let money: Payer
  let requests: PaymentRequestCalls
  let other: OtherParty
  let ownAgent: { partyId: string; agentId: string | null }
  let payerWalletId: string

  beforeEach(async () => {
    world = await createWorld(database)
    money = payer(world)
    requests = paymentRequestCalls(world)
    other = await addParty(world, { party: { email: 'other@example.com', phone: '+14155550123', handle: 'other' } })
    ownAgent = await world.whoami()
    payerWalletId = await requests.walletIdOf(other.apiKey)
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const askOther = async (amount = 1500, more: object = {}) =>
    idOf(await requests.ask(amount, { type: 'party_id', value: other.partyId }, more))

  test('a payment request is paid from the payer’s wallet, and both parties see the payment', async () => {
    const paymentRequest = await requests.ask(
      1500,
      { type: 'email', value: 'OTHER@example.com' },
      { description: 'Rent' },
    )
    expect(paymentRequest.status).toBe(201)
    const id = idOf(paymentRequest)
    expect(paymentRequest.json.data).toStrictEqual({
      type: 'paymentRequest',
      id: expect.stringMatching(/^prq_[0-9a-f]{32}$/),
      attributes: {
        amount: 1500,
        currency: 'USD',
        status: 'OPEN',
        description: 'Rent',
        tags: {},
        requesterName: expect.any(String),
        requesterEmail: expect.anything(),
        requesterAvatarUrl: null,
        requesterHandle: expect.stringMatching(/^@/),
        walletName: 'Main wallet',
        payerName: null,
        payerEmail: 'other@example.com',
        payerAvatarUrl: null,
        payerHandle: null,
        payerPhone: null,
        payerPartyId: other.partyId,
        payerIdentifierType: 'email',
        payerIdentifier: 'other@example.com',
        initiatorParty: { id: ownAgent.partyId, name: expect.any(String), handle: expect.stringMatching(/^@/) },
        initiatorAgent: null,
        paymentLinkUrl: expect.stringMatching(/\/request\/[0-9a-f]{64}$/),
        transactionId: null,
        agentId: null,
        instanceId: 'run 1',
        expiresAt: '2026-02-14T12:00:00.000Z',
        createdAt: '2026-01-15T12:00:00.000Z',
        updatedAt: '2026-01-15T12:00:00.000Z',
      },
      relationships: {
        party: { data: { type: 'party', id: ownAgent.partyId } },
        requesterParty: { data: { type: 'party', id: ownAgent.partyId } },
        wallet: { data: { type: 'wallet', id: expect.stringMatching(/^wal_/) } },
        payerParty: { data: { type: 'party', id: other.partyId } },
        payerAgent: { data: null },
        payment: { data: null },
      },
    })
    const received = ok(await requests.read(id, { key: other.apiKey })).json.data
    expect(received.attributes).toStrictEqual({
      ...paymentRequest.json.data.attributes,
      walletName: null,
      instanceId: null,
    })
    expect(received.relationships.wallet).toStrictEqual({ data: null })
    expect(await requests.incoming(other.apiKey)).toEqual([id])

    const before = await money.balance()
    const paid = ok(await requests.fulfill(id, payerWalletId, { key: other.apiKey })).json.data
    expect(paid).toMatchObject({
      type: 'payment',
      attributes: { amount: 1500, status: 'COMPLETED', description: 'Rent' },
      relationships: {
        sender: { data: { id: other.partyId } },
        recipient: { data: { id: ownAgent.partyId } },
        paymentRequest: { data: { type: 'paymentRequest', id } },
      },
    })
    expect(await money.balance()).toMatchObject({ available: before.available + 1500 })
    expect(await money.balance({ key: other.apiKey })).toMatchObject({ available: 98_500 })
    for (const key of [world.apiKey, other.apiKey]) {
      const { attributes, relationships } = ok(await requests.read(id, { key })).json.data
      expect(attributes.status).toBe('COMPLETED')
      expect(relationships.payment.data).toEqual({ type: 'payment', id: paid.id })
      expect(attributes.transactionId).toBe(paid.relationships.transaction.data.id)
    }
    expect(await requests.incoming(other.apiKey)).toEqual([])
    expectRefusal(await requests.fulfill(id, payerWalletId, { key: other.apiKey }), 'conflict')
    expectRefusal(await requests.decline(id, { key: other.apiKey }), 'conflict')
    expectRefusal(await requests.cancel(id), 'conflict')
  })

  test('a payment request can be declined by its payer or canceled by its sender, and then nobody can pay it', async () => {
    const [declined, canceled] = [await askOther(), await askOther()]
    expect(ok(await requests.decline(declined, { key: other.apiKey })).json.data.attributes.status).toBe('DECLINED')
    expect(ok(await requests.cancel(canceled)).json.data.attributes.status).toBe('CANCELED')
    for (const id of [declined, canceled]) {
      expectRefusal(await requests.fulfill(id, payerWalletId, { key: other.apiKey }), 'conflict')
    }
    expect(await money.balance({ key: other.apiKey })).toMatchObject({ available: 100_000 })
  })

  test('after 30 days, both the sender and the payer see that a payment request has expired', async () => {
    const id = await askOther()
    world.system.pass(30 * dayMs - 1)
    expect(await requests.statusOf(id, other.apiKey)).toBe('OPEN')
    world.system.pass(1)
    expect(await requests.incoming(other.apiKey)).toEqual([])
    expectRefusal(await requests.fulfill(id, payerWalletId, { key: other.apiKey }), 'conflict')
    expect(await requests.statusOf(id, other.apiKey)).toBe('EXPIRED')
    expect(await requests.sent()).toEqual([])
    expect(await requests.sent('?includeCanceled=true')).toEqual([id])
    expect(await requests.statusOf(id)).toBe('EXPIRED')
  })

  test('simulating the payment of a request to an unknown payer creates a party for the payer', async () => {
    const id = idOf(await requests.ask(700, { type: 'phone', value: '+14155550199' }, { payerName: 'Bo' }))
    const before = await money.balance()
    const paid = ok(await requests.simulateFulfillment(id)).json.data
    expect(paid.attributes.status).toBe('COMPLETED')
    expect(await money.balance()).toMatchObject({ available: before.available + 700 })
    const { attributes } = ok(await requests.read(id)).json.data
    expect(attributes).toMatchObject({
      status: 'COMPLETED',
      payerName: 'Bo',
      payerPhone: '+14155550199',
      payerPartyId: paid.relationships.sender.data.id,
    })
  })
})
