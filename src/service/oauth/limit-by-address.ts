import { RateLimiterMemory } from 'rate-limiter-flexible'

/** How often strangers may do something within some seconds of real time, in one process. */
export interface AddressBound {
  /** What one client may, by its address. */
  each: number
  /** What all of them together may: only what no single client can reach. */
  all: number
  seconds: number
}

/**
 * Counts what anybody can do. A client is counted by its address first, so that it uses up its own part and nobody
 * else's; calls within this process have no address and count among all. Tells whether this one is within the limits.
 */
export function limitByAddress({
  each,
  all,
  seconds,
}: AddressBound): (address: string | undefined) => Promise<boolean> {
  const ofEach = new RateLimiterMemory({ points: each, duration: seconds })
  const ofAll = new RateLimiterMemory({ points: all, duration: seconds })
  return async (address) => (address === undefined || (await within(ofEach, address))) && (await within(ofAll, 'all'))
}

function within(limiter: RateLimiterMemory, key: string): Promise<boolean> {
  return limiter.consume(key).then(
    () => true,
    (refusal: unknown) => {
      if (refusal instanceof Error) throw refusal
      return false
    },
  )
}
