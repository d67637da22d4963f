import type { ScenarioResults, Share, Trial, Verdict } from '../results.ts'

/** Why a trial came to no end of its own, or why its end tells nothing of the agent; undefined: neither. */
export function brokenOff({ ended, trouble, passed }: Trial): string | undefined {
  if (ended === 'answered') return passed ? undefined : (trouble ?? undefined)
  return trouble === null ? endings[ended] : `${endings[ended]} ${trouble}`
}

const endings = {
  timed_out: 'The agent gave no answer in time.',
  too_many_calls: 'The agent made more calls than a trial allows.',
  failed: 'The agent could not be run, or ended badly.',
} as const

const ranks = { never: 0, unasked: 1, expect: 2, answer: 3 } as const

/** The verdicts that count against a trial, the gravest first. */
export function fallen({ verdicts }: Trial): Verdict[] {
  const failed = verdicts.filter((verdict) => verdict.failed)
  return failed.toSorted((one, other) => ranks[one.kind] - ranks[other.kind])
}

/** Why a trial did not pass, in words. */
export function reasons(trial: Trial): string[] {
  if (trial.passed) return []
  const broken = brokenOff(trial)
  const found = [...(broken === undefined ? [] : [broken]), ...fallen(trial).map(({ says }) => says)]
  if (found.length > 0) return found
  return [trial.toldTruth === 'unclear' ? 'Whether the answer is true is unclear.' : 'It did not pass.']
}

/** How a trial came out: an unclear answer is no failure of the agent's that is known, and no pass. */
export function outcomeOf({ passed, didRight, toldTruth }: Trial): 'passed' | 'failed' | 'unclear' {
  if (passed) return 'passed'
  return didRight && toldTruth === 'unclear' ? 'unclear' : 'failed'
}

/** How each outcome shows: its sign, its name, and what it is like. */
export const outcomes = {
  passed: { sign: '✓', name: '✓ Passed', tone: 'good' },
  failed: { sign: '✗', name: '✗ Failed', tone: 'bad' },
  unclear: { sign: '?', name: '? Unclear', tone: 'open' },
} as const

/** Formats a share, such as `96.7 %`. Rounding never turns nearly all into all, or hardly any into none. */
export function percent(share: number): string {
  if (share === 0 || share === 1) return `${share * 100} %`
  return `${Math.min(99.9, Math.max(0.1, share * 100)).toFixed(1)} %`
}

/** Returns the 95 % confidence interval of a share, or an empty text for a share of nothing. */
export function interval({ low, high }: Share): string {
  return low === null || high === null ? '' : `${percent(low)} to ${percent(high)}`
}

/** Trials whose agent told the truth, such as `2 of 3, 1 unclear`. */
export function truthOf(trials: readonly Trial[]): string {
  const count = (truth: Trial['toldTruth']) => trials.filter(({ toldTruth }) => toldTruth === truth).length
  const unclear = count('unclear')
  return `${count('yes')} of ${trials.length}${unclear === 0 ? '' : `, ${unclear} unclear`}`
}

/** Trials that did right, such as `2 of 3`. */
export function rightOf(trials: readonly Trial[]): string {
  return `${trials.filter(({ didRight }) => didRight).length} of ${trials.length}`
}

/** Returns the line on how to allow unrequested effects, or an empty text if none of them failed a trial. */
export function howToAllow(scenarios: readonly ScenarioResults[]): string {
  const isUnasked = scenarios.some(({ trials }) =>
    trials.some((trial) => fallen(trial).some(({ kind }) => kind === 'unasked')),
  )
  return isUnasked
    ? 'If a scenario should allow what was not asked for, list it under allow, in the same form as expect; unasked: allowed switches this check off for the scenario (docs/rehearse.md#what-nobody-asked-for).'
    : ''
}

/** The line that says what was not judged of results that an earlier version wrote; empty where all was. */
export function notJudged(scenarios: readonly ScenarioResults[]): string {
  const lacking = scenarios.flatMap(({ trials }) =>
    trials.flatMap(({ lacks = [] }) => (lacks.length === 0 ? [] : [lacks])),
  )
  if (lacking.length === 0) return ''
  const parts = [
    ...(lacking.some((lacks) => lacks.includes('effects')) ? ['what was not asked for'] : []),
    ...(lacking.some((lacks) => lacks.includes('read')) ? ['what the answer claims'] : []),
  ]
  return `Not judged in ${counted(lacking.length, 'trial')}, because an earlier version wrote the results: ${parts.join(' and ')}.`
}

/** Counted things, such as `1 trial` and `2 trials`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`
}

/** pass^k for the values of k that tell most: the small ones, round ones, and the last. */
export function passKRows(passK: readonly number[]): [k: number, share: number][] {
  return passK
    .map((share, index): [number, number] => [index + 1, share])
    .filter(([k]) => k <= 5 || /^[125]0*$/.test(String(k)) || k === passK.length)
}
