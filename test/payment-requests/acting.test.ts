import { afterEach, beforeEach, expect, test } from 'vitest'
import { delegable } from '../../src/core/permissions.ts'
import { proveBooks } from '../ledger/books.ts'
import { ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addDelegation, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { idOf, type PaymentRequestCalls, paymentRequestCalls } from './calls.ts'

onEachDatabase('payment requests and agents', (database) => {
  let world: World
  let money: Payer
  let requests: PaymentRequestCalls
  let other: OtherParty
  let ownAgent: { partyId: string; agentId: string | null }

  beforeEach(async () => {
    world = await createWorld(database)
    money = payer(world)
    requests = paymentRequestCalls(world)
    other = await addParty(world, { party: { email: 'other@example.com', handle: 'other' } })
    ownAgent = await world.whoami()
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const connect = (permissions: readonly string[] = delegable) =>
    addDelegation(world, {
      customerPartyId: other.partyId,
      agentPartyId: ownAgent.partyId,
      agentId: ownAgent.agentId ?? '',
      permissions: JSON.stringify(permissions),
    })
  /** Creates one more party, which requests money from `other`. */
  const requestPayment = async () => {
    const third = await addParty(world)
    const to = { type: 'party_id', value: other.partyId }
    return { id: idOf(await requests.ask(900, to, {}, { key: third.apiKey })), third }
  }

  test('an agent cannot pay a customer’s payment request if the grant does not permit payments', async () => {
    await connect(['payments.read'])
    const { id } = await requestPayment()
    const payerWalletId = await requests.walletIdOf(other.apiKey)
    const acting = { customerPartyId: other.partyId }
    expectRefusal(await requests.fulfill(id, payerWalletId, {}, acting), 'forbidden', {
      source: { pointer: '/data/attributes/customerPartyId' },
    })
    expectRefusal(await requests.fulfill(id, payerWalletId, {}), 'not_found')
  })

  test('the call that pays a payment request also accepts partyId next to data, because the published client sends it there', async () => {
    await connect()
    const { id } = await requestPayment()
    const attributes = { paymentSource: { type: 'wallet', walletId: await requests.walletIdOf(other.apiKey) } }
    const send = (body: object) => world.send('POST', `/payment-requests/${id}/fulfill`, { body: JSON.stringify(body) })
    const missing = { partyId: 'pty_0', data: { attributes } }
    expect((await send(missing)).json.errors[0]).toMatchObject({ status: '422', code: 'invalid_value' })
    const twice = { partyId: other.partyId, data: { attributes: { ...attributes, partyId: other.partyId } } }
    expect((await send(twice)).json.errors[0]).toMatchObject({ status: '400', source: { pointer: '/partyId' } })
    const both = { partyId: other.partyId, data: { attributes: { ...attributes, customerPartyId: ownAgent.partyId } } }
    expect((await send(both)).json.errors[0]).toMatchObject({ status: '400', code: 'invalid_value' })
    const paid = ok(await send({ partyId: other.partyId, data: { attributes } })).json.data
    expect(paid.relationships).toMatchObject({
      sender: { data: { id: other.partyId } },
      senderAgent: { data: { id: ownAgent.agentId } },
      customerParty: { data: { id: other.partyId } },
      paymentRequest: { data: { id } },
    })
    expect(await requests.statusOf(id, other.apiKey)).toBe('COMPLETED')
  })

  test('the call that declines a payment request does not accept partyId next to data', async () => {
    const body = JSON.stringify({ partyId: ownAgent.partyId, data: { attributes: {} } })
    const answer = await world.send('POST', '/payment-requests/prq_none/decline', { body })
    expectRefusal(answer, 'invalid_value', { status: 400, source: { pointer: '/partyId' } })
  })

  test('a request to an agent is visible to that agent and to agents that may use the party’s default wallet', async () => {
    const { third } = await requestPayment()
    const secondWalletId = idOf(await world.post('/wallets', { displayName: 'Other' }, { key: other.apiKey }))
    const payerAgent = await addAgent(world, other.partyId, secondWalletId, ['payments.read', 'payments.create'])
    const otherAgent = await addAgent(world, other.partyId, secondWalletId, ['payments.read', 'payments.create'])
    const id = idOf(await requests.ask(500, { type: 'agent_id', value: payerAgent.agentId }, {}, { key: third.apiKey }))
    expect(await requests.incoming(other.apiKey)).toHaveLength(2)
    expect(await requests.incoming(other.agentKey)).toHaveLength(2)
    expect(await requests.incoming(payerAgent.agentKey)).toEqual([id])
    expect(await requests.incoming(otherAgent.agentKey)).toEqual([])
    expectRefusal(await requests.read(id, { key: otherAgent.agentKey }), 'forbidden')
    expectRefusal(await requests.decline(id, { key: otherAgent.agentKey }), 'forbidden')
    expect(ok(await requests.decline(id, { key: payerAgent.agentKey })).json.data.relationships).toMatchObject({
      payerParty: { data: { id: other.partyId } },
      payerAgent: { data: { id: payerAgent.agentId } },
    })
  })

  test('the run and the tags of an agent’s request are visible only to the requesting party', async () => {
    const to = { type: 'handle', value: '@OTHER' }
    const paymentRequest = ok(await requests.ask(300, to, { tags: { order: '7' } }, { instanceId: 'run 9' })).json.data
    expect(paymentRequest.attributes).toMatchObject({
      agentId: ownAgent.agentId,
      instanceId: 'run 9',
      tags: { order: '7' },
      payerHandle: '@other',
      payerIdentifier: '@other',
      initiatorParty: { id: ownAgent.partyId },
      initiatorAgent: { id: ownAgent.agentId },
    })
    const seen = ok(await requests.read(paymentRequest.id, { key: other.apiKey })).json.data
    expect(seen.attributes).toMatchObject({
      agentId: null,
      instanceId: null,
      tags: {},
      initiatorAgent: { id: ownAgent.agentId },
    })
    expectRefusal(await requests.ask(300, to, {}, { instanceId: null }), 'missing_instance_id', {
      source: { header: 'X-Instance-ID' },
    })
    expect(await money.balance()).toMatchObject({ available: 250_000 })
  })
})
