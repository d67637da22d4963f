import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Failure } from '../../core/errors.ts'
import type { System } from '../../core/system.ts'

export interface RateLimit {
  /** Sent with the answer, whatever it is. */
  headers: Readonly<Record<string, string>>
  /** Set when the request is one too many: 429 `rate_limited`. */
  failure: Failure | undefined
}

const windowSeconds = 60

/** Counts each credential's requests in windows of a minute of real time (docs/service.md#rate-limiting). */
export function createRateLimiter(requestsPerMinute: number, system: System): (keyId: string) => Promise<RateLimit> {
  const limiter = new RateLimiterMemory({ points: requestsPerMinute, duration: windowSeconds })
  return async (keyId) => {
    const { result, allowed } = await consume(limiter, keyId)
    const headers = {
      'X-RateLimit-Limit': String(requestsPerMinute),
      'X-RateLimit-Remaining': String(Math.max(0, result.remainingPoints)),
      'X-RateLimit-Reset': String(Math.ceil((system.now() + result.msBeforeNext) / 1000)),
    }
    if (allowed) return { headers, failure: undefined }
    const retryAfterSeconds = Math.max(1, Math.ceil(result.msBeforeNext / 1000))
    const detail = `This credential may send ${requestsPerMinute} requests a minute. Wait ${retryAfterSeconds} seconds.`
    return { headers, failure: new Failure('rate_limited', { detail, retryAfterSeconds }) }
  }
}

async function consume(limiter: RateLimiterMemory, keyId: string) {
  try {
    return { result: await limiter.consume(keyId), allowed: true }
  } catch (error) {
    if (error instanceof RateLimiterRes) return { result: error, allowed: false }
    throw error
  }
}
