import { describe, expect, it } from 'vitest'
import type { Action, Tool } from '../../src/simulate/action.ts'
import type { Facts, TransactionFacts } from '../../src/simulate/facts.ts'
import { createModel, type Model } from '../../src/simulate/model/model.ts'

const start = { own: { available: 1000, total: 1000 }, customer: { available: 500, total: 500 } }

/** Creates a model with one card for at most 300 cents. Returns it with functions that apply actions to it. */
function newModel() {
  const model = createModel(start)
  let step = 0
  const act = (tool: Tool, fields: Partial<Action> = {}): Facts => {
    step++
    const makes = { makes: `thing-${step}` }
    const prediction = model.apply({ step, agent: 1, tool, party: 'own', ...makes, ...fields })
    if (prediction === undefined) throw new Error('skipped')
    return prediction.facts
  }
  act('issue_agent_card', { makes: 'card', merchant: 'Books', maximum: 300 })
  const authorize = (amount = 200, fields: Partial<Action> = {}) =>
    act('simulate_card_authorization', { subject: 'card', amount, merchant: 'Books', makes: 'purchase', ...fields })
  return { model, act, authorize }
}

type World = ReturnType<typeof newModel>

/** For each status, a function that creates a card transaction with that status and returns its name in the model. */
const states: Record<TransactionFacts['status'], (world: World) => string> = {
  authorized: ({ authorize }) => checkedName(authorize(), 'purchase'),
  declined: ({ authorize }) => checkedName(authorize(301), 'purchase'),
  captured: ({ authorize, act }) => {
    authorize()
    return checkedName(act('simulate_card_capture', { subject: 'purchase', amount: 200 }), 'purchase')
  },
  partially_captured: ({ authorize, act }) => {
    authorize()
    return checkedName(act('simulate_card_capture', { subject: 'purchase', amount: 150 }), 'purchase')
  },
  reversed: ({ authorize, act }) => {
    authorize()
    return checkedName(act('simulate_card_reversal', { subject: 'purchase' }), 'purchase')
  },
  refunded: ({ authorize, act }) => {
    authorize()
    act('simulate_card_capture', { subject: 'purchase', amount: 200 })
    return checkedName(act('simulate_card_refund', { subject: 'purchase', amount: 50, makes: 'refund' }), 'refund')
  },
}

const actions: Record<string, Partial<Action> & { tool: Tool }> = {
  'capture all': { tool: 'simulate_card_capture', amount: 200 },
  'capture part': { tool: 'simulate_card_capture', amount: 1 },
  'capture too much': { tool: 'simulate_card_capture', amount: 201 },
  reverse: { tool: 'simulate_card_reversal' },
  expire: { tool: 'simulate_card_expiration' },
  'refund part': { tool: 'simulate_card_refund', amount: 150 },
  'refund too much': { tool: 'simulate_card_refund', amount: 201 },
}

/**
 * The results that docs/service.md#card-transaction-status defines, and the wallet's balance afterwards in cents. Each
 * key is a status and an action. If a status and an action have no entry, the action is refused with 409.
 */
const expectedResults: Record<string, { result: string; available: number; total: number }> = {
  'authorized, capture all': { result: 'captured', available: 800, total: 800 },
  'authorized, capture part': { result: 'partially_captured', available: 999, total: 999 },
  'authorized, capture too much': { result: 'invalid_value', available: 800, total: 1000 },
  'authorized, reverse': { result: 'reversed', available: 1000, total: 1000 },
  'authorized, expire': { result: 'reversed', available: 1000, total: 1000 },
  'captured, refund part': { result: 'refunded', available: 950, total: 950 },
  'captured, refund too much': { result: 'invalid_value', available: 800, total: 800 },
  'partially_captured, refund part': { result: 'refunded', available: 1000, total: 1000 },
  'partially_captured, refund too much': { result: 'invalid_value', available: 850, total: 850 },
}

const product = Object.keys(states).flatMap((state) =>
  Object.keys(actions).map((action) => [state as TransactionFacts['status'], action] as const),
)

describe('card transactions in the model', () => {
  it.each(product)('on a transaction with the status %s, the action "%s" has the documented result', (state, name) => {
    const world = newModel()
    const subject = states[state](world)
    expect(world.model.transaction(subject)?.status).toBe(state)
    const before = { ...world.model.balance('own') }
    const { tool, ...fields } = actions[name] ?? { tool: 'whoami' }
    const facts = world.act(tool, { subject, ...fields })
    const expected = expectedResults[`${state}, ${name}`]
    expect(resultOf(facts)).toBe(expected?.result ?? 'card_purchase_simulation_not_allowed')
    const { available, total } = expected ?? before
    expect(world.model.balance('own')).toEqual({ available, total })
    expect(world.model.balance('customer')).toEqual(start.customer)
  })
})

describe('decline codes in the model', () => {
  const expired = ({ act }: World) => act('advance_sandbox_clock', { seconds: 3600 })
  const used = ({ authorize }: World) => authorize(1)
  const lowBalance = ({ act, authorize }: World) => {
    act('issue_agent_card', { makes: 'other', maximum: 900 })
    authorize(900, { subject: 'other', makes: 'another' })
  }
  it.each([
    ['single_use_card_expired', 301, [lowBalance, used, expired]],
    ['single_use_card_used', 301, [lowBalance, used]],
    ['single_use_amount_over_maximum', 301, [lowBalance]],
    ['insufficient_funds', 101, [lowBalance]],
    [null, 100, [lowBalance]],
  ])('a purchase with several problems gets the first decline code that applies: %s', (code, amount, steps) => {
    const world = newModel()
    for (const step of steps) step(world)
    expect(world.authorize(amount, { makes: 'attempt' })).toMatchObject({ decline: code })
  })
})

describe('holds in the model', () => {
  it('a hold expires after seven days', () => {
    const { model, act, authorize } = newModel()
    authorize()
    act('advance_sandbox_clock', { seconds: 7 * 86_400 - 1800 })
    expect(model.transaction('purchase')?.status).toBe('authorized')
    act('advance_sandbox_clock', { seconds: 1800 })
    expect(model.transaction('purchase')).toMatchObject({ status: 'reversed', held: 0, holdExpiresAtMs: null })
    expect(model.balance('own')).toEqual(start.own)
  })
})

describe('idempotency keys in the model', () => {
  const first = { subject: 'card', amount: 5, merchant: 'Books', key: 'k' } as const
  const predict = (model: Model, fields: Partial<Action>) =>
    model.apply({
      step: 9,
      agent: 2,
      tool: 'simulate_card_authorization',
      party: 'own',
      makes: 'x',
      ...first,
      ...fields,
    })

  it('a key replays its answer for 48 hours, conflicts with a different request, and belongs to one party', () => {
    const { model, act, authorize } = newModel()
    authorize(5, { key: 'k' })
    act('simulate_card_reversal', { subject: 'purchase' })
    act('advance_sandbox_clock', { seconds: 48 * 3600 - 1800 })
    expect(predict(model, {})).toMatchObject({ replayed: true, facts: { name: 'purchase', status: 'authorized' } })
    expect(predict(model, { amount: 6 })).toMatchObject({ replayed: false, facts: { code: 'conflict', status: 409 } })
    expect(predict(model, { party: 'customer' })).toMatchObject({ replayed: false, facts: { code: 'not_found' } })
    act('advance_sandbox_clock', { seconds: 1800 })
    expect(predict(model, {})).toMatchObject({ replayed: false, facts: { decline: 'single_use_card_expired' } })
  })
})

it('the model skips an action on a record that does not exist', () => {
  const { model } = newModel()
  expect(model.apply({ step: 1, agent: 1, tool: 'get_agent_card', party: 'own', subject: 'card-9' })).toBeUndefined()
})

function checkedName(facts: Facts, name: string): string {
  if (facts.type !== 'cardTransaction') throw new Error(`not a card transaction: ${JSON.stringify(facts)}`)
  return name
}

function resultOf(facts: Facts): string {
  return facts.type === 'error' ? facts.code : facts.type === 'cardTransaction' ? facts.status : facts.type
}
