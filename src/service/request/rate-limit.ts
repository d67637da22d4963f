import { Failure } from '../../core/errors.ts'
import type { System } from '../../core/system.ts'
import type { Store } from '../store/engine/store.ts'
import { RateWindows } from './rate-windows.ts'

export interface RateLimit {
  /** The rate limit headers of the answer. A refused request gets them too. */
  headers: Readonly<Record<string, string>>
  /** The error 429 `rate_limited`; undefined if the request is within the limit. */
  failure: Failure | undefined
}

/**
 * Creates a function that counts a request against the rate limit of the credential that sent it
 * (docs/service.md#rate-limiting).
 */
export function createRateLimiter(
  requestsPerMinute: number,
  { store, system }: { store: Store; system: System },
): (keyId: string) => Promise<RateLimit> {
  const windows = new RateWindows(requestsPerMinute, { store, system })
  return async (keyId) => {
    const { allowed, remaining, leftMs } = await windows.count(keyId)
    const headers = {
      'X-RateLimit-Limit': String(requestsPerMinute),
      'X-RateLimit-Remaining': String(remaining),
      'X-RateLimit-Reset': String(Math.ceil((system.now() + leftMs) / 1000)),
    }
    if (allowed) return { headers, failure: undefined }
    const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1000))
    const detail = `This credential may send ${requestsPerMinute} requests a minute. Wait ${retryAfterSeconds} seconds.`
    return { headers, failure: new Failure('rate_limited', { detail, retryAfterSeconds }) }
  }
}
