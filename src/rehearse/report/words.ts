import type { ScenarioResults, Share, Trial, Usage, Verdict } from '../results.ts'
import { isJudged } from '../trial-record.ts'

/** Returns why a trial ended early, or why its failure says nothing about the agent; undefined if neither applies. */
export function endedEarly({ ended, trouble, passed }: Trial): string | undefined {
  if (ended === 'answered') return passed ? undefined : (trouble ?? undefined)
  return trouble === null ? endings[ended] : `${endings[ended]} ${trouble}`
}

const endings = {
  timed_out: 'The agent gave no answer in time.',
  too_many_calls: 'The agent made more calls than a trial allows.',
  failed: 'The agent could not be started, or failed.',
  provider_failed: 'Not judged: the provider failed.',
} as const

/** The labels that reports use for the wordings of attacks. */
export const wordingNames = {
  plain: 'worded plainly',
  urgent: 'worded urgently',
  system: 'as a system message',
} as const

const ranks = { never: 0, unasked: 1, expect: 2, question: 3, answer: 4 } as const

/** Returns the verdicts that count against a trial, the most serious first. */
export function failedVerdicts({ verdicts }: Trial): Verdict[] {
  const failed = verdicts.filter((verdict) => verdict.failed)
  return failed.toSorted((one, other) => ranks[one.kind] - ranks[other.kind])
}

/** Returns the reasons why a trial did not pass; empty if it passed. */
export function reasons(trial: Trial): string[] {
  if (trial.passed) return []
  const endedBy = endedEarly(trial)
  const found = [...(endedBy === undefined ? [] : [endedBy]), ...failedVerdicts(trial).map(({ says }) => says)]
  if (found.length > 0) return found
  return [trial.toldTruth === 'unclear' ? 'It is unclear whether the answer is true.' : 'The trial did not pass.']
}

/**
 * Returns the outcome of a trial. It is `unclear` if the agent did right, but it is unclear whether the answer is true.
 */
export function outcomeOf(trial: Trial): keyof typeof outcomes {
  const { passed, didRight, toldTruth } = trial
  if (passed) return 'passed'
  if (!isJudged(trial)) return 'unjudged'
  return didRight && toldTruth === 'unclear' ? 'unclear' : 'failed'
}

/** The sign, the words and the color of each outcome. */
export const outcomes = {
  passed: { sign: '✓', word: 'passed', name: '✓ Passed', tone: 'good' },
  failed: { sign: '✗', word: 'failed', name: '✗ Failed', tone: 'bad' },
  unclear: { sign: '?', word: 'unclear', name: '? Unclear', tone: 'open' },
  unjudged: { sign: '–', word: 'not judged', name: '– Not judged', tone: 'open' },
} as const

/**
 * Formats a share as a percentage, such as `96.7 %`. A share below 100 % is never rounded up to 100 %, and
 * a share above 0 % is never rounded down to 0 %.
 */
export function percent(share: number): string {
  if (share === 0 || share === 1) return `${share * 100} %`
  return `${Math.min(99.9, Math.max(0.1, share * 100)).toFixed(1)} %`
}

/** Returns the 95 % confidence interval of a share, or an empty string if there are no trials. */
export function interval({ low, high }: Share): string {
  return low === null || high === null ? '' : `${percent(low)} to ${percent(high)}`
}

/** Describes how many trials passed, such as `2 of 3, 1 not judged`. */
export function passedOf(trials: readonly Trial[]): string {
  const judged = trials.filter(isJudged)
  const passed = judged.filter((trial) => trial.passed).length
  const left = trials.length - judged.length
  return `${passed.toLocaleString('en-US')} of ${judged.length.toLocaleString('en-US')}${left === 0 ? '' : `, ${left.toLocaleString('en-US')} not judged`}`
}

/** Describes in how many trials the agent told the truth, such as `2 of 3, 1 unclear`. */
export function truthOf(trials: readonly Trial[]): string {
  const judged = trials.filter(isJudged)
  const count = (truth: Trial['toldTruth']) => judged.filter(({ toldTruth }) => toldTruth === truth).length
  const unclear = count('unclear')
  return `${count('yes')} of ${judged.length}${unclear === 0 ? '' : `, ${unclear} unclear`}`
}

/** Describes in how many trials the agent did right, such as `2 of 3`. */
export function rightOf(trials: readonly Trial[]): string {
  return `${trials.filter(({ didRight }) => didRight).length} of ${trials.filter(isJudged).length}`
}

/** Explains how to allow unrequested effects. Returns an empty string if no trial failed because of them. */
export function howToAllow(scenarios: readonly ScenarioResults[]): string {
  const isUnasked = scenarios.some(({ trials }) =>
    trials.some((trial) => failedVerdicts(trial).some(({ kind }) => kind === 'unasked')),
  )
  return isUnasked
    ? 'To allow effects that the task did not ask for, list them under `allow:` in the scenario, in the same form as under `expect:`. To turn this check off for the scenario, add `unasked: allowed` (docs/rehearse.md#what-nobody-asked-for).'
    : ''
}

/** Returns a note on trials in which the model's provider failed, or an empty string if there are none. */
export function providerFailed(count = 0): string {
  return count === 0
    ? ''
    : `Not judged: in ${countWithNoun(count, 'trial')} the model's provider failed. Percentages leave out such trials.`
}

/** Describes how much a model was used, such as `1,200 tokens in, 80 out, $0.0042`. */
export function usageWords({ inputTokens, outputTokens, costMicrodollars, retries }: Usage): string {
  const [read, written] = [inputTokens.toLocaleString('en-US'), outputTokens.toLocaleString('en-US')]
  const cost = costMicrodollars === undefined ? '' : `, $${(costMicrodollars / 1e6).toFixed(4)}`
  const again = retries === 0 ? '' : `, ${countWithNoun(retries, 'retry', 'retries')} after provider failures`
  return `${read} tokens in, ${written} out${cost}${again}`
}

/** Returns a note on the parts of older results that could not be judged, or an empty string if there are none. */
export function notJudged(scenarios: readonly ScenarioResults[]): string {
  const lacking = scenarios.flatMap(({ trials }) =>
    trials.flatMap(({ lacks = [] }) => (lacks.length === 0 ? [] : [lacks])),
  )
  if (lacking.length === 0) return ''
  const parts = [
    ...(lacking.some((lacks) => lacks.includes('effects')) ? ['unrequested effects'] : []),
    ...(lacking.some((lacks) => lacks.includes('read')) ? ['claims in the answer'] : []),
  ]
  return `In ${countWithNoun(lacking.length, 'trial')}, ${parts.join(' and ')} were not judged, because an older version of payments-mcp wrote the results.`
}

/** Formats a count with its noun, such as `1 trial` or `2 trials`. */
export function countWithNoun(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`
}

/** Selects pass^k for k up to 5, for round values of k such as 10, 20 and 50, and for the largest k. */
export function passKRows(passK: readonly number[]): [k: number, share: number][] {
  return passK
    .map((share, index): [number, number] => [index + 1, share])
    .filter(([k]) => k <= 5 || /^[125]0*$/.test(String(k)) || k === passK.length)
}
