/** The kinds of effects that happen by themselves. */
export type TimedKind = 'shop' | 'bank' | 'hold' | 'subscription' | 'invitation' | 'request'

const firstPauseMs = 60_000
const longestPauseMs = 86_400_000

/** Returns how long an effect that has failed so many times waits for its next try (docs/time.md#effects-that-fail). */
export function pauseAfter(attempts: number): number {
  return Math.min(firstPauseMs * 2 ** (attempts - 1), longestPauseMs)
}
