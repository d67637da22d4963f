import { afterEach, beforeEach, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { created, ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addParty, createWorld, type OtherParty, type Sent, type World } from '../support/world.ts'

onEachDatabase("the simulation of a customer's decision", (database) => {
  let world: World
  let self: Payer
  let shop: OtherParty
  let customer: string
  beforeEach(async () => {
    world = await createWorld(database)
    self = payer(world)
    shop = await addParty(world)
    customer = await world.customerPartyId()
    await self.setLimits('delegations', await self.delegationId(customer), { perTransaction: 100 })
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const query = () => `?customerPartyId=${customer}`
  const decide = (id: string, action: 'approve' | 'deny', sent?: Sent) =>
    world.send('POST', `/simulations/approvals/${id}/${action}`, sent)
  const requestApproval = async (amount = 150) => {
    const to = { type: 'party_id', value: shop.partyId }
    const paymentId = created(await self.pay(amount, to, { customerPartyId: customer }))
    return { paymentId, approvalId: (await self.approvalOf(paymentId, {}, query())).id as string }
  }
  const status = async (paymentId: string) =>
    ok(await world.get(`/payments/${paymentId}${query()}`)).json.data.attributes.status

  test('a simulated approval pays once, from the customer’s wallet', async () => {
    const { paymentId, approvalId } = await requestApproval()
    expect(await status(paymentId)).toBe('IN_REVIEW')
    const { attributes } = ok(await decide(approvalId, 'approve')).json.data
    expect(attributes).toMatchObject({ status: 'approved', customer: { id: customer }, denialReason: null })
    expect(await status(paymentId)).toBe('COMPLETED')
    expect(await self.balance({}, query())).toMatchObject({ available: 99_850 })
    for (const action of ['approve', 'deny'] as const) expectRefusal(await decide(approvalId, action), 'conflict')
    expect(await self.balance({}, query())).toMatchObject({ available: 99_850 })
  })

  test('a simulated denial moves no money, and the approval shows the reason', async () => {
    const { paymentId, approvalId } = await requestApproval()
    const denied = ok(await decide(approvalId, 'deny', { key: world.apiKey, attributes: { reason: 'Too much.' } }))
    expect(denied.json.data.attributes).toMatchObject({ status: 'denied', denialReason: 'Too much.' })
    expect(await status(paymentId)).toBe('APPROVAL_DENIED')
    expectRefusal(await decide(approvalId, 'approve'), 'conflict')
    expect(await self.balance({}, query())).toMatchObject({ available: 100_000 })
  })

  test('a repeated decision with the same idempotency key is replayed', async () => {
    const { approvalId } = await requestApproval()
    const sent = { idempotencyKey: 'once' }
    const first = ok(await decide(approvalId, 'approve', sent))
    const again = ok(await decide(approvalId, 'approve', sent))
    expect(again.text).toBe(first.text)
    expect(again.headers.get('x-idempotency-replayed')).toBe('true')
    expect(await self.balance({}, query())).toMatchObject({ available: 99_850 })
  })

  test('a decision cannot be simulated by other parties or agents, without an instance id, or for the agent’s own party', async () => {
    const { approvalId } = await requestApproval()
    const { partyId } = await world.whoami()
    const walletId = ok(await world.get('/wallets')).json.data[0].id
    const colleague = await addAgent(world, partyId, walletId, [])
    for (const key of [shop.apiKey, shop.agentKey, colleague.agentKey]) {
      expectRefusal(await decide(approvalId, 'approve', { key }), 'not_found')
    }
    const header = { header: 'X-Instance-ID' }
    expectRefusal(await decide(approvalId, 'approve', { instanceId: null }), 'missing_instance_id', { source: header })
    await self.setLimits('agents', String((await world.whoami()).agentId), { perTransaction: 1 })
    const ownPayment = created(await self.pay(2, { type: 'party_id', value: shop.partyId }))
    expectRefusal(await decide((await self.approvalOf(ownPayment)).id, 'approve'), 'not_found')
    expect(await self.balance({}, query())).toMatchObject({ available: 100_000 })
  })
})
