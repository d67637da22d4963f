import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Failure } from '../../src/core/errors.ts'
import { startOfDayAfter } from '../../src/service/rules/calendar.ts'
import type { CardBehavior } from '../../src/service/rules/card-behaviors.ts'
import { freezeTerms } from '../../src/service/rules/subscription-terms.ts'
import * as billing from '../../src/service/rules/subscriptions.ts'
import { cardBehaviors } from '../../tools/subscriptions.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep, tries } from '../support/depth.ts'
import { createWorld } from '../support/world.ts'
import { type Command, DayByDay } from './day-by-day.ts'
import { dayMs, merchant, ok, proveCharges } from './merchant.ts'

const startMs = Date.UTC(2026, 0, 31, 12)
const hourMs = dayMs / 24

const every = fc.constantFrom(
  { unit: 'week', count: 1 } as const,
  { unit: 'week', count: 2 } as const,
  { unit: 'month', count: 1 } as const,
  { unit: 'month', count: 2 } as const,
)
const terms = fc.oneof(
  every.map((interval) => ({ description: 'x', every: interval, amount: 1000, taxAmount: 90 })),
  fc.record({ interval: every, paymentCount: fc.integer({ min: 2, max: 4 }) }).map(({ interval, paymentCount }) => {
    return { description: 'x', every: interval, totalAmount: 4001, taxAmount: 401, paymentCount }
  }),
)
const behavior = fc.constantFrom<CardBehavior>(...cardBehaviors)

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('card' as const), behavior, ahead: fc.constantFrom(undefined, 0, 1, 2) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('resume' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('mark' as const),
      which: fc.constantFrom('missed' as const, 'next' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
)
/**
 * The number of hours before a command. Half of the values lead from noon to a midnight, because a history starts at
 * noon and charges are made at midnight.
 */
const hours = fc.oneof(
  fc.integer({ min: 1, max: 200 }),
  fc.integer({ min: 1, max: 40 }).map((days) => days * 24 - 12),
)
const history = fc.record({
  terms,
  initialBehavior: behavior,
  commands: fc.array(fc.record({ hours, command }), { minLength: 0, maxLength: 10 }),
  restHours: fc.integer({ min: 0, max: 24 * 120 }),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

/**
 * Applies a history to the billing rules, without the service. Billing runs before each command and at the end. It also
 * runs at the times that `stopsBetween` returns.
 */
function applyHistory(
  { terms: proposed, initialBehavior, commands, restHours }: History,
  stopsBetween: (fromMs: number, toMs: number) => number[],
) {
  const frozen = freezeTerms(proposed)
  const paid = billing.payInCheckout(frozen, billing.startBilling(startMs, startMs + dayMs), 'approves', startMs)
  let state = billing.changeCard(paid.billing, initialBehavior, undefined, startMs)
  const charges = [...paid.charges]
  const results: string[] = []
  const take = (billed: billing.Billed) => {
    state = billed.billing
    charges.push(...billed.charges)
  }
  let nowMs = startMs
  const pass = (toMs: number) => {
    for (const atMs of [...stopsBetween(nowMs, toMs), toMs]) take(billing.billUntil(frozen, state, atMs))
    nowMs = toMs
  }
  for (const { hours: later, command: one } of commands) {
    pass(nowMs + later * hourMs)
    results.push(attempt(() => take(carryOut(frozen, state, one, nowMs))))
  }
  pass(nowMs + restHours * hourMs)
  return { state, charges, results, frozen, nowMs }
}

function carryOut(
  frozen: ReturnType<typeof freezeTerms>,
  state: billing.Billing,
  one: Command,
  nowMs: number,
): billing.Billed {
  const only = (next: billing.Billing) => ({ billing: next, charges: [] })
  if (one.do === 'resume') return billing.resume(frozen, state, nowMs)
  if (one.do === 'cancel') return only(billing.cancel(state, nowMs))
  if (one.do === 'card') {
    const from = one.ahead === undefined ? undefined : state.current + one.ahead
    return only(billing.changeCard(state, one.behavior, from, nowMs))
  }
  const number = one.which === 'missed' ? (state.missed[0] ?? state.current) : state.current
  return only(billing.markPaid(frozen, state, number, nowMs))
}

function attempt(work: () => void): string {
  try {
    work()
    return 'done'
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return error.code
  }
}

/** Random stops in a period between two commands, as fractions of that period. */
const stops = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })
/**
 * Returns a function that converts fractions of a period to timestamps. For each timestamp, it adds the midnight before
 * that time, or the start of the period if that is later.
 */
const stopsAt = (shares: readonly number[]) => (fromMs: number, toMs: number) =>
  shares
    .flatMap((share) => {
      const ms = Math.floor(fromMs + share * (toMs - fromMs))
      return [ms, Math.max(fromMs, ms - (ms % dayMs))]
    })
    .sort((a, b) => a - b)

describe('the billing rules, without the service', () => {
  test('the billing rules give the same result whether time passes in one jump or in many steps', () => {
    const reached = new Set<string>()
    fc.assert(
      fc.property(history, stops, (story, shares) => {
        const jump = applyHistory(story, () => [])
        reached.add(jump.state.status)
        expect(applyHistory(story, stopsAt(shares))).toEqual(jump)
      }),
      { numRuns: tries(3000) },
    )
    expect([...reached].sort()).toEqual(['active', 'canceled', 'completed', 'needs_attention', 'past_due'])
  })

  test('the billing rules give the same result whether time passes in one jump or hour by hour', () => {
    const hourly = (fromMs: number, toMs: number) =>
      Array.from({ length: Math.floor((toMs - fromMs) / hourMs) }, (_, index) => fromMs + index * hourMs)
    fc.assert(
      fc.property(history, (story) => {
        expect(applyHistory(story, hourly)).toEqual(applyHistory(story, () => []))
      }),
      { numRuns: tries(150) },
    )
  })

  test('the billing rules agree with a day-by-day model', () => {
    const reasons = new Set<string | undefined>()
    fc.assert(
      fc.property(history, (story) => {
        const { state, charges, results, frozen, nowMs } = applyHistory(story, () => [])
        const model = new DayByDay(startMs, frozen.paymentCount, story.initialBehavior, (number) =>
          startOfDayAfter(startMs, frozen.every, number - 1),
        )
        const answers = story.commands.map(({ hours: later, command: one }) => {
          model.passTo(model.nowMs + later * hourMs)
          return model.take(one)
        })
        model.passTo(nowMs)
        reasons.add(model.attention?.reason)
        expect(answers).toEqual(results)
        expect(model.charged).toEqual(charges.map(({ paymentNumber, atMs }) => [paymentNumber, atMs]))
        const final = model.status === 'canceled' || model.status === 'completed'
        expect({
          status: state.status,
          missed: state.missed,
          attention: state.attention,
          next: billing.nextPayment(frozen, state)?.paymentNumber ?? null,
        }).toEqual({
          status: model.status,
          missed: model.missed,
          attention: model.attention,
          next: final ? null : model.next,
        })
      }),
      { numRuns: tries(3000) },
    )
    expect(reasons.size, 'the five reasons for attention, and no reason').toBe(6)
  })
})

onEachDatabase('billing through the service', (database) => {
  /**
   * Runs the histories of several subscriptions over REST in one sandbox. Returns the statuses of the answers, and the
   * final subscriptions, wallet and ledger. Placeholders replace the ids.
   */
  async function finalStates(stories: readonly History[], shares: readonly number[]) {
    const world = await createWorld(database)
    try {
      const shop = merchant(world)
      await shop.to(new Date(startMs).toISOString())
      const ids: string[] = []
      const answers: string[] = []
      for (const { terms: attributes, initialBehavior } of stories) {
        const id = await shop.active({ ...attributes })
        ok(await shop.card(id, initialBehavior))
        ids.push(id)
      }
      const events = stories
        .flatMap(({ commands }, index) => {
          let atMs = startMs
          return commands.map(({ hours: later, command: one }) => {
            atMs += later * hourMs
            return { atMs, id: String(ids[index]), one }
          })
        })
        .sort((a, b) => a.atMs - b.atMs)
      let nowMs = startMs
      const pass = async (toMs: number) => {
        for (const atMs of [...stopsAt(shares)(nowMs, toMs), toMs]) {
          if (atMs <= nowMs) continue
          await shop.to(new Date(atMs).toISOString())
          nowMs = atMs
        }
      }
      for (const { atMs, id, one } of events) {
        await pass(atMs)
        const { nextPayment, missedPayments } = await shop.read(id)
        const next = (nextPayment as { paymentNumber: number } | null)?.paymentNumber ?? 1
        const number = one.do === 'mark' && one.which === 'missed' ? ((missedPayments as number[])[0] ?? next) : next
        const operations = {
          resume: () => shop.resume(id),
          cancel: () => shop.cancel(id),
          mark: () => shop.markPaid(id, number),
          card: () =>
            one.do === 'card'
              ? shop.card(id, one.behavior, one.ahead === undefined ? undefined : next + one.ahead)
              : shop.get(id),
        }
        answers.push(String((await operations[one.do]()).status))
      }
      await pass(startMs + 400 * dayMs)
      const entries = await proveCharges(world)
      const seen = await Promise.all(ids.map(async (id) => (await shop.get(id)).text))
      const wallet = (await world.get('/wallets')).json.data[0].attributes.balance
      const anonymous = (text: string) =>
        ids
          .reduce((all, id, index) => all.replaceAll(id, `subscription ${index}`), text)
          .replaceAll(/\b(sub|pmi|mdt)_[0-9a-f]{32}/g, '$1')
      return {
        seen: seen.map(anonymous),
        answers,
        wallet,
        ledger: entries
          .map(({ sourceId, createdAtMs, account, amountCents }) =>
            anonymous(`${sourceId} ${createdAtMs} ${account} ${amountCents}`),
          )
          .sort(),
      }
    } finally {
      await world.drop()
    }
  }

  test('one jump of the clock and many steps lead to the same visible subscriptions and ledger', async () => {
    const [minLength, maxLength] = isDeep || database === sqlite ? [4, 6] : [1, 2]
    const stories = fc.array(history, { minLength, maxLength })
    await fc.assert(
      fc.asyncProperty(stories, stops, async (several, shares) => {
        expect(await finalStates(several, shares.slice(0, 6))).toEqual(await finalStates(several, []))
      }),
      { numRuns: tries(5), endOnFailure: true },
    )
  })
})
