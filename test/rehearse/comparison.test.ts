import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compare, difference } from '../../src/rehearse/comparison.ts'
import type { Results, ScenarioResults } from '../../src/rehearse/results.ts'
import { tries } from '../support/depth.ts'
import { resultsOf, scenarioOf, verdict } from './sample-results.ts'

const expected = { what: 'purchases', exactly: 1 } as const

/** Returns a scenario whose first `passed` trials passed and whose other trials failed. */
const scenarioOfTrials = (id: string, passed: number, trials: number): ScenarioResults =>
  scenarioOf(
    { id },
    Array.from({ length: trials }, (_, at) => ({ verdicts: [verdict('expect', expected, 0, at >= passed)] })),
  )

/** Returns results with a scenario of one trial for each sign. The trial passed for `+`, and failed for `-`. */
const row = (signs: string): Results =>
  resultsOf([...signs].map((sign, at) => scenarioOfTrials(`scenario-${at}`, sign === '+' ? 1 : 0, 1)))

const compareAll = (now: Results, before: Results) => compare(now, before, new Map())

describe('the p-value of a comparison', () => {
  test('with one trial per scenario, the p-value is that of McNemar’s exact test', () => {
    // The expected values are both tails of a binomial distribution, as if a fair coin were tossed once for each
    // scenario whose result changed.
    const chanceOf = (before: string, now: string) => compareAll(row(now), row(before)).passed.chance
    expect(chanceOf('+++++----', '---------')).toBeCloseTo(2 / 2 ** 5, 10)
    expect(chanceOf('+++++-', '-----+')).toBeCloseTo((2 * (1 + 6)) / 2 ** 6, 10)
    expect(chanceOf('++--', '++--')).toBe(1)
    expect(chanceOf('+', '-')).toBe(1)
  })

  test('the p-value of a scenario is that of Fisher’s exact test, corrected for the number of scenarios', () => {
    // These are the numbers of Fisher's tea-tasting experiment: 3 of 4 against 1 of 4.
    const [tea] = compareAll(
      resultsOf([scenarioOfTrials('tea', 3, 4)]),
      resultsOf([scenarioOfTrials('tea', 1, 4)]),
    ).scenarios
    expect(tea?.chance).toBeCloseTo(34 / 70, 10)
    const rest = Array.from({ length: 9 }, (_, at) => scenarioOfTrials(`same-${at}`, 10, 10))
    const [worst, ...others] = compareAll(
      resultsOf([...rest, scenarioOfTrials('worse', 2, 10)]),
      resultsOf([...rest, scenarioOfTrials('worse', 10, 10)]),
    ).scenarios
    expect(worst).toMatchObject({ id: 'worse', before: { passed: 10, of: 10 }, now: { passed: 2, of: 10 } })
    // Fisher's test gives 2 · C(10, 2) / C(20, 8). The correction multiplies that by ten, the number of scenarios.
    expect(worst?.chance).toBeCloseTo((10 * 2 * 45) / 125_970, 10)
    expect(others.every(({ chance }) => chance === 1)).toBe(true)
  })

  test('the p-value is the fraction of sign patterns whose difference in either direction is at least as large as the observed one', () => {
    const trials = fc.integer({ min: 1, max: 4 })
    const count = trials.chain((of) => fc.record({ of: fc.constant(of), passed: fc.nat(of) }))
    const pairs = fc.array(fc.record({ before: count, now: count }), { minLength: 1, maxLength: 7 })
    fc.assert(
      fc.property(pairs, (changes) => {
        const side = (which: 'before' | 'now') =>
          resultsOf(
            changes.map((change, at) => scenarioOfTrials(`scenario-${at}`, change[which].passed, change[which].of)),
          )
        const forth = compareAll(side('now'), side('before'))
        const back = compareAll(side('before'), side('now'))
        expect(back.passed.chance).toBeCloseTo(forth.passed.chance, 10)
        for (const { chance } of forth.scenarios) expect(chance > 0 && chance <= 1).toBe(true)
        const signed = changes
          .map(difference)
          .reduce<number[]>((sums, step) => (step === 0 ? sums : sums.flatMap((sum) => [sum + step, sum - step])), [0])
        const found = Math.abs(changes.map(difference).reduce((sum, step) => sum + step, 0))
        const asLarge = signed.filter((sum) => Math.abs(sum) >= found - 1e-9).length
        expect(forth.passed.chance).toBeCloseTo(asLarge / signed.length, 10)
      }),
      { numRuns: tries(200) },
    )
  })

  test('the p-value of a thousand scenarios with different numbers of trials is computed quickly', () => {
    const many = (passed: number) =>
      resultsOf(Array.from({ length: 1000 }, (_, at) => scenarioOfTrials(`s-${at}`, passed, 7 + (at % 6))))
    expect(compareAll(many(7), many(6)).passed.chance).toBeLessThan(1e-6)
  })
})

test('scenarios with a new task, without trials, or in only one of the results are not compared', () => {
  const before = resultsOf([
    scenarioOfTrials('same', 1, 1),
    scenarioOfTrials('gone', 1, 1),
    scenarioOfTrials('changed', 1, 1),
    scenarioOfTrials('untried', 0, 0),
  ])
  const now = resultsOf([
    scenarioOfTrials('same', 1, 1),
    scenarioOfTrials('new', 1, 1),
    scenarioOfTrials('changed', 0, 1),
    scenarioOfTrials('untried', 1, 1),
  ])
  const tasks = new Map([['changed', 'Another task.']])
  const comparison = compare(now, { ...before, seed: '2', agent: 'older' }, tasks)
  expect(comparison).toMatchObject({
    before: { agent: 'older', seed: '2', trials: 1 },
    ...{ otherTask: ['changed'], onlyBefore: ['gone'], onlyNow: ['new'], lacks: false },
    passed: { before: { passed: 1, of: 1 }, now: { passed: 1, of: 1 }, chance: 1 },
  })
  expect(comparison.scenarios.map(({ id }) => id)).toEqual(['same'])
  expect(compareAll(resultsOf([]), resultsOf([])).passed).toMatchObject({ now: { share: null }, chance: 1 })
})

test('the largest decline is listed first, and missing effects in the earlier results are reported', () => {
  const before = resultsOf([scenarioOfTrials('a', 1, 2), scenarioOfTrials('b', 2, 2), scenarioOfTrials('c', 0, 2)])
  const [trial] = before.scenarios[0]?.trials ?? []
  if (trial !== undefined) trial.lacks = ['effects']
  const comparison = compareAll(
    resultsOf([scenarioOfTrials('a', 1, 2), scenarioOfTrials('b', 0, 2), scenarioOfTrials('c', 2, 2)]),
    before,
  )
  expect(comparison.scenarios.map(({ id }) => id)).toEqual(['b', 'a', 'c'])
  expect(comparison.lacks).toBe(true)
})
