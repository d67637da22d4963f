import { keepNewest } from './bounded-map.ts'
import type { System } from './system.ts'

/** The most keys that are remembered. Beyond this limit, the key with the oldest try is forgotten. */
const maxKeys = 10_000

interface Window {
  tries: number
  /** The end of the window, on the monotonic clock. */
  endsAtMs: number
}

/** Counts tries by key in the memory of this process, in windows of real time that begin with a key's first try. */
export class Tries {
  readonly #system: Pick<System, 'elapsed'>
  readonly #windowMs: number
  readonly #windows = new Map<string, Window>()

  constructor(system: Pick<System, 'elapsed'>, windowMs: number) {
    this.#system = system
    this.#windowMs = windowMs
  }

  /** Counts one more try. Returns the count in the key's window. */
  count(key: string): number {
    const { tries, endsAtMs } = this.window(key)
    keepNewest(this.#windows, key, { tries: tries + 1, endsAtMs }, maxKeys)
    return tries + 1
  }

  /** Returns the key's current window, or the window that its next try would begin. */
  window(key: string): Readonly<Window> & { leftMs: number } {
    const nowMs = this.#system.elapsed()
    const window = this.#windows.get(key)
    const { tries, endsAtMs } =
      window && window.endsAtMs > nowMs ? window : { tries: 0, endsAtMs: nowMs + this.#windowMs }
    return { tries, endsAtMs, leftMs: endsAtMs - nowMs }
  }
}

/** The rate limit of anonymous clients for one process. */
export interface AddressBound {
  /** The most tries of one client, by its address. */
  each: number
  /** The most tries of all clients together: a total that no single client can reach. */
  all: number
  seconds: number
}

/** Counts one more try of a client, and returns whether it is within the limits. */
export type AddressLimit = (address: string | undefined) => boolean

/**
 * Limits the rate of actions that are open to anyone. A client's own limit is checked first, so its refused tries do
 * not count toward the total. Calls within this process have no address and count toward the total only.
 */
export function limitByAddress(system: Pick<System, 'elapsed'>, { each, all, seconds }: AddressBound): AddressLimit {
  const [perAddress, total] = [new Tries(system, seconds * 1000), new Tries(system, seconds * 1000)]
  return (address) => (address === undefined || perAddress.count(address) <= each) && total.count('all') <= all
}
