import { difference, significanceLevel } from '../comparison.ts'
import type { Comparison, ShareChange } from '../results.ts'
import { countWithNoun, percent } from './words.ts'

/** Formats a change in a share in percentage points, such as `+18.5 points`. */
function points(change: number): string {
  const rounded = (change * 100).toFixed(1)
  return `${change > 0 ? '+' : ''}${rounded === '-0.0' ? '0.0' : rounded} points`
}

/** Describes whether a difference may be due to chance, with its p-value, such as `within chance (p 0.25)`. */
export function chanceOf(chance: number): string {
  return `${chance > significanceLevel ? 'within' : 'beyond'} chance (p ${chance < 0.001 ? '< 0.001' : chance.toFixed(chance < 0.1 ? 3 : 2)})`
}

/** Describes how a share changed, such as `70.4 % → 88.9 %, +18.5 points, within chance (p 0.25)`. */
export function changeLine({ before, now, chance }: ShareChange): string {
  if (before.share === null || now.share === null) return 'nothing to compare'
  const shares = `${percent(before.share)} → ${percent(now.share)}`
  return `${shares}, ${points(now.share - before.share)}, ${chanceOf(chance)}`
}

export interface ChangedScenario {
  id: string
  way: 'worse' | 'better'
  /** The number of passed trials in the earlier results, such as `2 of 3`. */
  from: string
  /** The number of passed trials in the current results. */
  to: string
  /** The p-value of the difference. */
  chance: number
}

/** Returns the scenarios that changed, the largest decline first. */
export function changedScenarios({ scenarios }: Comparison): ChangedScenario[] {
  return scenarios.flatMap((change) => {
    const by = difference(change)
    const [from, to] = [change.before, change.now].map(({ passed, of }) => `${passed} of ${of}`) as [string, string]
    return by === 0 ? [] : [{ ...change, way: by < 0 ? 'worse' : 'better', from, to }]
  })
}

/** Describes the earlier results: the agent, the number of trials and the seed. */
export function comparedWith({ before: { agent, seed, trials } }: Comparison): string {
  return `${agent}, ${countWithNoun(trials, 'trial')} of each scenario, seed ${JSON.stringify(seed)}`
}

/**
 * Returns notes on the comparison: how many scenarios are unchanged, which scenarios were not compared, and how else
 * the two results differ.
 */
export function notCompared(comparison: Comparison): string[] {
  const { scenarios, otherSeed, otherTask, onlyBefore, onlyNow, lacks } = comparison
  const same = scenarios.length - changedScenarios(comparison).length
  const lines: [string, readonly string[]][] = [
    ['Not compared, because the task changed', otherTask],
    ['Only in the earlier results', onlyBefore],
    ['Only in these results', onlyNow],
  ]
  return [
    `${same} of ${countWithNoun(scenarios.length, 'scenario')} unchanged.`,
    ...lines.flatMap(([what, ids]) => (ids.length === 0 ? [] : [`${what}: ${ids.join(', ')}.`])),
    ...(otherSeed ? ['The seeds differ, so random choices differ too.'] : []),
    ...(lacks
      ? ['An older version of payments-mcp wrote the earlier results, so they lack some of the current checks.']
      : []),
  ]
}
