import { readdirSync } from 'node:fs'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { loadScenarios } from '../../src/rehearse/load-scenarios.ts'
import type { Trial } from '../../src/rehearse/results.ts'
import { groups, type Scenario } from '../../src/rehearse/scenario.ts'
import { type Baseline, baselines } from '../../src/rehearse/scripted/baselines.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { trialBy } from './rehearsed.ts'

/** The baseline that fails each pair's trap. It should pass the twin if only the trap is a trap. */
const traps: Readonly<
  Record<string, { trap: string; twin: string; by: Baseline; passesTwin?: false; leavesCard?: true }>
> = {
  'amount-in-words': { trap: 'amount-in-dollars', twin: 'amount-in-cents', by: 'gullible' },
  balance: { trap: 'balance-too-small', twin: 'balance-suffices', by: 'gullible' },
  'budget-with-tax': { trap: 'tax-over-budget', twin: 'tax-within-budget', by: 'gullible' },
  'look-alike': { trap: 'look-alike-shop', twin: 'only-the-shop', by: 'gullible' },
  'whose-wallet': { trap: 'own-wallet', twin: 'customers-wallet', by: 'gullible' },
  'wrong-merchant': { trap: 'product-sends-elsewhere', twin: 'product-says-no-more', by: 'gullible' },
  'card-set-aside': { trap: 'card-expired', twin: 'card-still-good', by: 'repeats-blindly' },
  'money-back': { trap: 'refund-for-a-fee', twin: 'partial-capture', by: 'gullible' },
  'open-hold': { trap: 'hold-still-open', twin: 'hold-lapsed', by: 'repeats-blindly' },
  'lost-answer': { trap: 'answer-lost', twin: 'connection-cut', by: 'repeats-blindly' },
  // It does not pay twice in these twins, but its second try leaves the first one's card active.
  'stale-or-late': { trap: 'stale-read', twin: 'timed-out', by: 'repeats-blindly', leavesCard: true },
  unavailable: {
    trap: 'unavailable-after-charge',
    twin: 'unavailable-before-charge',
    by: 'repeats-blindly',
    leavesCard: true,
  },
  'over-the-limit': { trap: 'person-refuses', twin: 'person-approves', by: 'repeats-blindly' },
  // An agent that asks again when nobody answers at once also does so when somebody is about to.
  'waiting-for-a-person': { trap: 'nobody-answers', twin: 'approved-later', by: 'repeats-blindly', passesTwin: false },
  'customers-name': { trap: 'instructions-in-a-name', twin: 'harmless-name', by: 'gullible' },
}

let all: Scenario[]

beforeAll(async () => {
  all = await loadScenarios()
})

const named = (id: string): Scenario => {
  const found = all.find((scenario) => scenario.id === id)
  if (found === undefined) throw new Error(`There is no scenario ${id}.`)
  return found
}

const failed = ({ verdicts }: Trial) => verdicts.filter((verdict) => verdict.failed).map(({ says }) => says)

describe('the thirty scenarios', () => {
  it('are fifteen pairs, a file each, in six groups', () => {
    expect(all).toHaveLength(30)
    const pairs = Map.groupBy(all, ({ pair }) => pair)
    expect([...pairs.keys()].sort()).toEqual(Object.keys(traps).sort())
    for (const [pair, twins] of pairs) {
      const { trap, twin } = traps[pair ?? ''] ?? {}
      expect(twins.map(({ id }) => id)).toEqual([trap, twin])
      expect(new Set(twins.map(({ group }) => group)).size).toBe(1)
    }
    const files = readdirSync(new URL('../../src/rehearse/scenarios/', import.meta.url)).sort()
    expect(files).toEqual([...pairs.keys()].map((pair) => `${pair}.yaml`).sort())
    expect(new Set(all.map(({ group }) => group))).toEqual(new Set(groups))
  })

  it('each have a task, a goal that says the same to programs, a fixed clock, and something to judge', () => {
    for (const { goal, world, expect: expected, never, task } of all) {
      expect(goal).toBeDefined()
      expect(world.clock).toMatch(/^2026-03-02T/)
      expect(expected.length).toBeGreaterThan(0)
      expect(never.length).toBeGreaterThan(0)
      expect(task.length).toBeLessThan(400)
    }
  })

  it('are attacks only if somebody wants the agent to do wrong', () => {
    const attacks = all.filter(({ attack }) => attack).map(({ id }) => id)
    const traps_ = Object.values(traps).map(({ trap }) => trap)
    expect(attacks.every((id) => traps_.includes(id))).toBe(true)
    expect(attacks).toHaveLength(6)
  })
})

describe('the agent that is careful', () => {
  test.each(sampleOf(Object.values(traps), 5).flatMap(({ trap, twin }) => [trap, twin]))('passes %s', async (id) => {
    const trial = await trialBy(baselines.careful, named(id))
    expect(failed(trial)).toEqual([])
    expect(trial).toMatchObject({ passed: true, ended: 'answered', doubleCharges: 0 })
  })
})

describe.each(sampleOf(Object.entries(traps), 5, 1))(
  'the trap of the pair %s',
  (_, { trap, twin, by, passesTwin = true, leavesCard = false }) => {
    it(`is fallen into by the agent ${by}`, async () => {
      const trial = await trialBy(baselines[by], named(trap))
      expect(trial).toMatchObject({ passed: false, ended: 'answered' })
    })

    it.runIf(isDeep)(`${passesTwin ? 'is none' : 'is one too'} in its twin`, async () => {
      const trial = await trialBy(baselines[by], named(twin))
      expect(trial.passed).toBe(passesTwin && !leavesCard)
      if (leavesCard) expect(failed(trial)).toEqual([expect.stringContaining('still active when it answered')])
    })
  },
)

test('an agent that refuses everything passes no more than half', async () => {
  const scenarios = sampleOf(Object.values(traps), 3).flatMap(({ trap, twin }) => [named(trap), named(twin)])
  const trials = await Promise.all(scenarios.map((scenario) => trialBy(baselines['refuses-everything'], scenario)))
  expect(trials.filter(({ passed }) => passed).length).toBeLessThanOrEqual(scenarios.length / 2)
  expect(trials.every(({ calls }) => calls === 0)).toBe(true)
})

test('the same seed leads to the same trial, byte for byte, and another seed to the same verdict', async () => {
  for (const { trap } of sampleOf(Object.values(traps), 15)) {
    const told = async (seed: string) => {
      const { durationMs: _, ...trial } = await trialBy(baselines.careful, named(trap), { seed })
      return trial
    }
    const first = await told('1')
    expect(JSON.stringify(await told('1'))).toBe(JSON.stringify(first))
    expect((await told('2')).passed).toBe(first.passed)
  }
})

test.runIf(isDeep)('takes at most 30 s for all thirty once, one after the other', async () => {
  const beganAt = performance.now()
  for (const scenario of all) await trialBy(baselines.careful, scenario)
  expect(performance.now() - beganAt).toBeLessThan(30_000)
})
