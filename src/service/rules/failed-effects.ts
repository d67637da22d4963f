/** The kinds of due effects. */
export type TimedKind = 'shop' | 'bank' | 'hold' | 'subscription' | 'invitation' | 'request'

const firstPauseMs = 60_000
const longestPauseMs = 86_400_000

/** Returns the pause before an effect that failed `attempts` times is tried again (docs/time.md#effects-that-fail). */
export function pauseAfter(attempts: number): number {
  return Math.min(firstPauseMs * 2 ** (attempts - 1), longestPauseMs)
}
