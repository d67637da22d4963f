import { describe, expect, it } from 'vitest'
import type { Action, Tool } from '../../src/simulate/action.ts'
import type { Facts, TransactionFacts } from '../../src/simulate/facts.ts'
import { clearedAtMs, isBankingDay } from '../../src/simulate/model/banking-days.ts'
import { createModel, type Model } from '../../src/simulate/model/model.ts'

const start = { own: { available: 1000, total: 1000 }, customer: { available: 500, total: 500 } }

/** A model with one card of at most 300 cents, and a caller for it. */
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

/** How a card transaction gets into each status; it is named `subject` then. */
const states: Record<TransactionFacts['status'], (world: World) => string> = {
  authorized: ({ authorize }) => made(authorize(), 'purchase'),
  declined: ({ authorize }) => made(authorize(301), 'purchase'),
  captured: ({ authorize, act }) => {
    authorize()
    return made(act('simulate_card_capture', { subject: 'purchase', amount: 200 }), 'purchase')
  },
  partially_captured: ({ authorize, act }) => {
    authorize()
    return made(act('simulate_card_capture', { subject: 'purchase', amount: 150 }), 'purchase')
  },
  reversed: ({ authorize, act }) => {
    authorize()
    return made(act('simulate_card_reversal', { subject: 'purchase' }), 'purchase')
  },
  refunded: ({ authorize, act }) => {
    authorize()
    act('simulate_card_capture', { subject: 'purchase', amount: 200 })
    return made(act('simulate_card_refund', { subject: 'purchase', amount: 50, makes: 'refund' }), 'refund')
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

/** docs/service.md#card-transaction-status: an action that is not listed is 409. The wallet's balances are in cents. */
const allowed: Record<string, { becomes: string; available: number; total: number }> = {
  'authorized, capture all': { becomes: 'captured', available: 800, total: 800 },
  'authorized, capture part': { becomes: 'partially_captured', available: 999, total: 999 },
  'authorized, capture too much': { becomes: 'invalid_value', available: 800, total: 1000 },
  'authorized, reverse': { becomes: 'reversed', available: 1000, total: 1000 },
  'authorized, expire': { becomes: 'reversed', available: 1000, total: 1000 },
  'captured, refund part': { becomes: 'refunded', available: 950, total: 950 },
  'captured, refund too much': { becomes: 'invalid_value', available: 800, total: 800 },
  'partially_captured, refund part': { becomes: 'refunded', available: 1000, total: 1000 },
  'partially_captured, refund too much': { becomes: 'invalid_value', available: 850, total: 850 },
}

const product = Object.keys(states).flatMap((state) =>
  Object.keys(actions).map((action) => [state as TransactionFacts['status'], action] as const),
)

describe('the table of states', () => {
  it.each(product)('%s, %s', (state, name) => {
    const world = newModel()
    const subject = states[state](world)
    expect(world.model.transaction(subject)?.status).toBe(state)
    const before = { ...world.model.balance('own') }
    const { tool, ...fields } = actions[name] ?? { tool: 'whoami' }
    const facts = world.act(tool, { subject, ...fields })
    const expected = allowed[`${state}, ${name}`]
    expect(resultOf(facts)).toBe(expected?.becomes ?? 'card_purchase_simulation_not_allowed')
    const { available, total } = expected ?? before
    expect(world.model.balance('own')).toEqual({ available, total })
    expect(world.model.balance('customer')).toEqual(start.customer)
  })
})

describe('declines, in their order', () => {
  const expired = ({ act }: World) => act('advance_sandbox_clock', { seconds: 3600 })
  const used = ({ authorize }: World) => authorize(1)
  const poor = ({ act, authorize }: World) => {
    act('issue_agent_card', { makes: 'other', maximum: 900 })
    authorize(900, { subject: 'other', makes: 'another' })
  }
  it.each([
    ['single_use_card_expired', 301, [poor, used, expired]],
    ['single_use_card_used', 301, [poor, used]],
    ['single_use_amount_over_maximum', 301, [poor]],
    ['insufficient_funds', 101, [poor]],
    [null, 100, [poor]],
  ])('%s', (code, amount, steps) => {
    const world = newModel()
    for (const step of steps) step(world)
    expect(world.authorize(amount, { makes: 'attempt' })).toMatchObject({ decline: code })
  })
})

describe('time', () => {
  it('ends a hold after seven days', () => {
    const { model, act, authorize } = newModel()
    authorize()
    act('advance_sandbox_clock', { seconds: 7 * 86_400 - 1800 })
    expect(model.transaction('purchase')?.status).toBe('authorized')
    act('advance_sandbox_clock', { seconds: 1800 })
    expect(model.transaction('purchase')).toMatchObject({ status: 'reversed', held: 0, holdExpiresAtMs: null })
    expect(model.balance('own')).toEqual(start.own)
  })
})

describe('banking days', () => {
  /** The holidays of the Federal Reserve Banks, as they publish them; in 2026 and 2027 some are on a Saturday. */
  const holidays = [
    ...['2026-01-01', '2026-01-19', '2026-02-16', '2026-05-25', '2026-06-19', '2026-09-07', '2026-10-12'],
    ...['2026-11-11', '2026-11-26', '2026-12-25', '2027-01-01', '2027-01-18', '2027-02-15', '2027-05-31'],
    ...['2027-07-05', '2027-09-06', '2027-10-11', '2027-11-11', '2027-11-25'],
  ]
  const days = Array.from({ length: 730 }, (_, day) => Date.UTC(2026, 0, 1 + day))

  it('are Monday to Friday without holidays', () => {
    const expected = days.filter((ms) => {
      const date = new Date(ms)
      return date.getUTCDay() % 6 !== 0 && !holidays.includes(date.toISOString().slice(0, 10))
    })
    expect(days.filter(isBankingDay)).toEqual(expected)
  })

  it.each([
    ['on a Thursday', '2026-01-29T09:00:00Z', 2, '2026-02-02T14:00:00Z'],
    ['late on a Friday', '2026-01-16T23:59:00Z', 1, '2026-01-20T14:00:00Z'],
    ['on a Sunday', '2026-02-01T00:00:00Z', 1, '2026-02-02T14:00:00Z'],
    ['before Christmas', '2026-12-24T15:00:00Z', 2, '2026-12-29T14:00:00Z'],
  ])('count from the day after: %s', (_, from, count, until) => {
    expect(clearedAtMs(Date.parse(from), count)).toBe(Date.parse(until))
  })
})

describe('banks', () => {
  const account = 'account-0000-of-own'
  /** A model with a linked bank account, and a caller for it. */
  function atBank(token = 'accounts', lastFour = '0000') {
    const world = newModel()
    world.act('link_external_accounts', { token })
    const begin = (kind: 'deposit' | 'withdrawal', amount: number) =>
      world.act(`create_${kind}`, { account: account.replace('0000', lastFour), amount, makes: 'transfer' })
    const bank = (what: 'settlement' | 'failure' | 'return') =>
      world.act(`simulate_transfer_${what}`, { subject: 'transfer' })
    return { ...world, begin, bank }
  }

  it.each([
    ['deposit', [], 'PROCESSING', 1000, 1000],
    ['deposit', ['settlement'], 'COMPLETED', 1400, 1400],
    ['deposit', ['failure'], 'FAILED', 1000, 1000],
    ['deposit', ['settlement', 'return'], 'RETURNED', 1000, 1000],
    ['withdrawal', [], 'PROCESSING', 600, 1000],
    ['withdrawal', ['settlement'], 'COMPLETED', 600, 600],
    ['withdrawal', ['failure'], 'FAILED', 1000, 1000],
    ['withdrawal', ['settlement', 'return'], 'RETURNED', 1000, 1000],
  ] as const)('%s after %j', (kind, steps, status, available, total) => {
    const { model, begin, bank } = atBank()
    begin(kind, 400)
    for (const step of steps) bank(step)
    expect(model.transfer('transfer')?.status).toBe(status)
    expect(model.balance('own')).toEqual({ available, total })
  })

  it('take back what was spent, and then nothing goes out', () => {
    const { model, act, begin, bank } = atBank()
    begin('deposit', 400)
    bank('settlement')
    act('create_payment', { payee: 'customer', amount: 1200, makes: 'payment' })
    bank('return')
    expect(model.balance('own')).toEqual({ available: -200, total: -200 })
    expect(act('create_payment', { payee: 'customer', amount: 1, makes: 'other' })).toMatchObject({ code: 'conflict' })
  })

  it('act as time passes, each account in its way', () => {
    const returning = atBank('deposits-return', '0010')
    returning.begin('deposit', 400)
    returning.act('advance_sandbox_clock', { seconds: 30 * 86_400 })
    expect(returning.model.transfer('transfer')).toMatchObject({ status: 'RETURNED', why: 'R10', next: null })
    const failing = atBank('withdrawals-fail', '0002')
    failing.begin('withdrawal', 400)
    failing.act('advance_sandbox_clock', { seconds: 30 * 86_400 })
    expect(failing.model.transfer('transfer')).toMatchObject({ status: 'FAILED', why: 'R02' })
    expect([returning, failing].map(({ model }) => model.balance('own'))).toEqual([start.own, start.own])
  })
})

describe('keys', () => {
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

  it('replay for 48 hours, conflict with another request, and belong to a party', () => {
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

it('skips what acts on something that was left out', () => {
  const { model } = newModel()
  expect(model.apply({ step: 1, agent: 1, tool: 'get_agent_card', party: 'own', subject: 'card-9' })).toBeUndefined()
})

function made(facts: Facts, name: string): string {
  if (facts.type !== 'cardTransaction') throw new Error(`no card transaction: ${JSON.stringify(facts)}`)
  return name
}

function resultOf(facts: Facts): string {
  return facts.type === 'error' ? facts.code : facts.type === 'cardTransaction' ? facts.status : facts.type
}
