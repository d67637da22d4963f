import type { Share, Trial, Verdict } from '../results.ts'

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

/** The verdicts that count against a trial; what must never happen is graver than what did not. */
export function fallen({ verdicts }: Trial): Verdict[] {
  const failed = verdicts.filter((verdict) => verdict.failed)
  return failed.toSorted((one, other) => Number(other.kind === 'never') - Number(one.kind === 'never'))
}

/** A share as a person reads it, such as `96.7 %`. What is not quite all, or hardly anything, does not read as all or none. */
export function percent(share: number): string {
  if (share === 0 || share === 1) return `${share * 100} %`
  return `${Math.min(99.9, Math.max(0.1, share * 100)).toFixed(1)} %`
}

/** Where the true share lies, in 95 of 100 such rehearsals; empty where there is nothing that it would be a share of. */
export function interval({ low, high }: Share): string {
  return low === null || high === null ? '' : `${percent(low)} to ${percent(high)}`
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
