import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { spendingAction } from '../model/actions.ts'
import { compareMoney } from '../model/compare.ts'
import { perform, start } from '../model/run.ts'
import { created, ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { type Answer, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'

const merchant = { name: 'Books' }
const usd = { currency: 'USD' }
const hourMs = 3_600_000

onEachDatabase('spending limits on cards', (database) => {
  let world: World
  let self: Payer
  let other: OtherParty
  let ownAgent: { partyId: string; agentId: string }
  beforeEach(async () => {
    world = await createWorld(database)
    self = payer(world)
    other = await addParty(world)
    ownAgent = (await world.whoami()) as typeof ownAgent
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const issue = (maximumAmount: number, more: object = {}) =>
    world.post('/agent-cards', { merchant, maximumAmount, ...usd, ...more })
  const authorize = (cardId: string, amount: number, more: object = {}, key = world.agentKey) =>
    world.post(`/simulations/agent-cards/${cardId}/authorize`, { amount, ...usd, merchant, ...more }, { key })
  const buy = async (amount: number, more: object = {}) => authorize(created(await issue(amount, more)), amount, more)
  const act = (id: string, action: string, attributes: object = {}) =>
    world.post(`/simulations/card-transactions/${id}/${action}`, attributes)
  const pay = async (amount: number) => {
    const answer = await self.pay(amount, { type: 'party_id', value: other.partyId })
    return ok(answer).json.data.attributes.status as string
  }

  test('a card whose maximum is above the transaction limit is refused, and the error states the limit', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 500 })
    const refused = await issue(501)
    expectAboveLimit(refused)
    expect(refused.json.errors[0].detail).toContain('at most 500')
    expect(ok(await buy(500)).json.data.attributes.status).toBe('authorized')
    await self.setLimits('agents', ownAgent.agentId, null)
    expect(ok(await buy(501)).json.data.attributes.status).toBe('authorized')
  })

  test("a customer's card is limited by the grant, not by the agent's own limits", async () => {
    const customerPartyId = await world.customerPartyId()
    const acting = { customerPartyId }
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 1, perDay: 1 })
    await self.setLimits('delegations', await self.delegationId(customerPartyId), { perTransaction: 500, perDay: 800 })
    expectAboveLimit(await issue(100_000, acting))
    expect(ok(await buy(500, acting)).json.data.attributes.status).toBe('authorized')
    expectRefusal(await buy(301, acting), 'conflict')
    expect(ok(await buy(300, acting)).json.data.attributes.status).toBe('authorized')
    expect(await self.balance({}, `?customerPartyId=${customerPartyId}`)).toMatchObject({ available: 99_200 })
  })

  test('a purchase beyond the daily limit is refused with the reason, and the card stays active', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 1000 })
    ok(await buy(600))
    const card = created(await issue(500))
    const refused = await authorize(card, 500)
    expectRefusal(refused, 'conflict')
    expect(refused.json.errors[0].detail).toContain('$11.00, above the limit of $10.00 per day')
    // The agent's limits also apply if the party's API key simulates the purchase with the agent's card.
    expectRefusal(await authorize(card, 401, {}, world.apiKey), 'conflict')
    expect(ok(await world.get(`/agent-cards/${card}`)).json.data.attributes.status).toBe('active')
    expect(await self.balance()).toMatchObject({ available: 250_000 - 600 })
    // The card's own maximum is checked before the limits. An amount above the maximum is declined without an error.
    expect(ok(await authorize(card, 501)).json.data.attributes.decline.code).toBe('single_use_amount_over_maximum')
    expect(ok(await authorize(card, 400)).json.data.attributes.status).toBe('authorized')
  })

  test('a limit that is lowered after a card is issued applies to purchases with that card', async () => {
    const card = created(await issue(500))
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 300 })
    expectRefusal(await authorize(card, 301), 'conflict')
    ok(await authorize(card, 300))
  })

  test('limits count a captured hold once, a partial capture with its amount, and a released hold not at all', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 1000, perMonth: 1500 })
    const [first, second, third] = [created(await buy(400)), created(await buy(300)), created(await buy(300))]
    expect(await pay(1)).toBe('IN_REVIEW')
    ok(await act(first, 'capture', { amount: 400, ...usd }))
    expect(await pay(1)).toBe('IN_REVIEW')
    ok(await act(second, 'capture', { amount: 100, ...usd }))
    expect(await pay(200)).toBe('COMPLETED')
    expect(await pay(1)).toBe('IN_REVIEW')
    ok(await act(third, 'reverse'))
    expectRefusal(await buy(301), 'conflict')
    ok(await buy(300))
    world.system.pass(12 * hourMs)
    // A new day begins. In this month, 400 + 100 + 200 + 300 cents are already spent.
    const refused = await buy(501)
    expectRefusal(refused, 'conflict')
    expect(refused.json.errors[0].detail).toContain('per month')
    ok(await buy(500))
  })

  test('a payment that waits for approval does not count toward the limits', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 1000 })
    expect(await pay(5000)).toBe('IN_REVIEW')
    expect(await pay(600)).toBe('COMPLETED')
    ok(await buy(400))
    expect(await pay(1)).toBe('IN_REVIEW')
  })

  test('balances and lists match a model after any sequence of purchases and payments', async () => {
    const limits = { perTransaction: 400, perDay: 600, perMonth: 1300 }
    const actions = fc.array(spendingAction, { minLength: 15, maxLength: 35 })
    const property = fc.asyncProperty(actions, async (all) => {
      const state = await start(world, 100_000, limits)
      for (const action of all) await perform(world, state, 0, action)
      await compareMoney(world, state)
    })
    await fc.assert(property, { numRuns: tries(60) })
  })
})

function expectAboveLimit(answer: Answer): void {
  const error = { code: 'invalid_value', status: '422', source: { pointer: '/data/attributes/maximumAmount' } }
  expect(answer.json.errors).toMatchObject([{ ...error, meta: { maximum: 500 } }])
}
