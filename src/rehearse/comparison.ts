import type {
  Comparison,
  CountedTrials,
  Results,
  ScenarioChange,
  ScenarioResults,
  ShareChange,
  Trial,
} from './results.ts'
import { clusteredShare } from './statistics.ts'
import { isJudged } from './trial-record.ts'

/** The p-value above which a change is reported as possibly due to chance. */
export const significanceLevel = 0.05

/**
 * Compares results with earlier results, scenario by scenario. Both must have been judged by the same assertions, so
 * that only the agents differ.
 * @param tasks the task of each scenario in the earlier results, by scenario id; scenarios whose task has changed are
 * not compared
 */
export function compare(now: Results, before: Results, tasks: ReadonlyMap<string, string>): Comparison {
  const earlierById = new Map(before.scenarios.map((one) => [one.scenario.id, one]))
  const matched = now.scenarios.flatMap((current) => {
    const earlier = earlierById.get(current.scenario.id)
    return earlier?.trials.some(isJudged) && current.trials.some(isJudged) ? [{ current, earlier }] : []
  })
  const pairs = matched.filter(
    ({ current: { scenario } }) => (tasks.get(scenario.id) ?? scenario.task) === scenario.task,
  )
  const idsOf = (scenarios: readonly ScenarioResults[]) => scenarios.map(({ scenario }) => scenario.id)
  const [idsBefore, idsNow] = [new Set(idsOf(before.scenarios)), new Set(idsOf(now.scenarios))]
  return {
    before: { agent: before.agent, seed: before.seed, trials: before.trials },
    otherSeed: before.seed !== now.seed,
    passed: shareChange(pairs, ({ passed }) => passed),
    didRight: shareChange(pairs, ({ didRight }) => didRight),
    toldTruth: shareChange(pairs, ({ toldTruth }) => toldTruth === 'yes'),
    scenarios: scenarioChanges(pairs),
    otherTask: idsOf(matched.filter((pair) => !pairs.includes(pair)).map(({ current }) => current)),
    onlyBefore: [...idsBefore].filter((id) => !idsNow.has(id)),
    onlyNow: [...idsNow].filter((id) => !idsBefore.has(id)),
    lacks: before.scenarios.some(({ trials }) => trials.some(({ lacks }) => lacks !== undefined)),
  }
}

interface Pair {
  current: ScenarioResults
  earlier: ScenarioResults
}

const countOf = ({ trials }: ScenarioResults, holds: (trial: Trial) => boolean): CountedTrials => ({
  passed: trials.filter((trial) => isJudged(trial) && holds(trial)).length,
  of: trials.filter(isJudged).length,
})

function shareChange(pairs: readonly Pair[], holds: (trial: Trial) => boolean): ShareChange {
  const counts = pairs.map(({ current, earlier }) => ({
    now: countOf(current, holds),
    before: countOf(earlier, holds),
  }))
  return {
    before: clusteredShare(counts.map(({ before }) => before)),
    now: clusteredShare(counts.map(({ now }) => now)),
    chance: chanceOfShares(counts),
  }
}

interface Change {
  before: CountedTrials
  now: CountedTrials
}

/** Limits the size of the distribution in `chanceOfShares`. The differences in large comparisons are rounded. */
const maxCells = 50_000

/**
 * Returns the probability that the average difference between two equally good agents is at least as large as in these
 * results. For such agents, each scenario's difference is equally likely to be positive or negative. The test goes
 * through all combinations of signs (the paired randomization test of R. A. Fisher, The Design of Experiments, 1935;
 * with one trial per scenario, it is McNemar's exact test).
 */
function chanceOfShares(changes: readonly Change[]): number {
  const exact = changes.reduce((multiple, { before, now }) => lcm(lcm(multiple, before.of), now.of), 1)
  const unit = Math.min(exact, Math.floor(maxCells / Math.max(1, changes.length)))
  const steps = changes
    .map(({ before, now }) => Math.round((now.passed / now.of - before.passed / before.of) * unit))
    .filter((step) => step !== 0)
  const maxDifference = steps.reduce((sum, step) => sum + Math.abs(step), 0)
  const observed = Math.abs(steps.reduce((sum, step) => sum + step, 0))
  let shares = new Float64Array(2 * maxDifference + 1)
  shares[maxDifference] = 1
  for (const step of steps) {
    const next = new Float64Array(shares.length)
    for (const [at, share] of shares.entries()) {
      if (share === 0) continue
      next[at + step] = (next[at + step] ?? 0) + share / 2
      next[at - step] = (next[at - step] ?? 0) + share / 2
    }
    shares = next
  }
  const asLarge = shares.filter((_, at) => Math.abs(at - maxDifference) >= observed)
  return Math.min(
    1,
    asLarge.reduce((sum, share) => sum + share, 0),
  )
}

function lcm(one: number, other: number): number {
  let [a, b] = [one, other]
  while (b !== 0) [a, b] = [b, a % b]
  return Math.min(maxCells, (one / a) * other)
}

/** Lists how the result of each scenario changed. The largest decline comes first. */
function scenarioChanges(pairs: readonly Pair[]): ScenarioChange[] {
  const changes = pairs.map(({ current, earlier }) => ({
    id: current.scenario.id,
    before: countOf(earlier, ({ passed }) => passed),
    now: countOf(current, ({ passed }) => passed),
  }))
  const chances = correctedChances(changes.map(chanceOfScenario))
  return changes
    .map((change, at) => ({ ...change, chance: chances[at] ?? 1 }))
    .toSorted((one, other) => difference(one) - difference(other))
}

export const difference = ({ before, now }: Change) => now.passed / now.of - before.passed / before.of

/**
 * Returns the probability that two equally good agents differ in one scenario at least as much as these trials do. This
 * is Fisher's exact test, two-sided (R. A. Fisher, Statistical Methods for Research Workers, 1934).
 */
function chanceOfScenario({ before, now }: Change): number {
  const passed = before.passed + now.passed
  const logWays = (count: number) =>
    logChoose(before.of, count) + logChoose(now.of, passed - count) - logChoose(before.of + now.of, passed)
  const observed = Math.exp(logWays(before.passed))
  let chance = 0
  for (let count = Math.max(0, passed - now.of); count <= Math.min(before.of, passed); count++) {
    const share = Math.exp(logWays(count))
    if (share <= observed * (1 + 1e-7)) chance += share
  }
  return Math.min(1, chance)
}

function logChoose(total: number, count: number): number {
  let sum = 0
  for (let at = 1; at <= count; at++) sum += Math.log((total - count + at) / at)
  return sum
}

/**
 * Corrects p-values for the number of scenarios (S. Holm, A Simple Sequentially Rejective Multiple Test Procedure,
 * 1979). Without the correction, up to one scenario in twenty would seem to have changed between equally good agents.
 */
function correctedChances(chances: readonly number[]): number[] {
  const order = chances.map((chance, at) => ({ chance, at })).toSorted((one, other) => one.chance - other.chance)
  const corrected = chances.map(() => 1)
  let lowest = 0
  for (const [rank, { chance, at }] of order.entries()) {
    lowest = Math.min(1, Math.max(lowest, chance * (chances.length - rank)))
    corrected[at] = lowest
  }
  return corrected
}
