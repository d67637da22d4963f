import { RateLimiterMemory } from 'rate-limiter-flexible'

/** Counts in this process, in windows of real time. Each call counts, and tells whether it is within the limit. */
export function atMost(points: number, seconds: number): (what: string) => Promise<boolean> {
  const limiter = new RateLimiterMemory({ points, duration: seconds })
  return (what) =>
    limiter.consume(what).then(
      () => true,
      (refusal: unknown) => {
        if (refusal instanceof Error) throw refusal
        return false
      },
    )
}
