import { keepNewest } from './bounded-map.ts'
import type { System } from './system.ts'

/** More keys than these are not remembered; the one that tried the longest ago is forgotten first. */
const mostKeys = 10_000

interface Window {
  tries: number
  /** By the monotonic clock. */
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

  /** Counts one more. Returns how many it makes in the key's window. */
  count(key: string): number {
    const { tries, endsAtMs } = this.of(key)
    keepNewest(this.#windows, key, { tries: tries + 1, endsAtMs }, mostKeys)
    return tries + 1
  }

  /** The key's window: the present one, or the one that its next try begins. */
  of(key: string): Readonly<Window> & { leftMs: number } {
    const nowMs = this.#system.elapsed()
    const known = this.#windows.get(key)
    const { tries, endsAtMs } = known && known.endsAtMs > nowMs ? known : { tries: 0, endsAtMs: nowMs + this.#windowMs }
    return { tries, endsAtMs, leftMs: endsAtMs - nowMs }
  }
}

/** How often strangers may do something within some seconds, in one process. */
export interface AddressBound {
  /** The most tries of one client, by its address. */
  each: number
  /** The most tries of all of them together: only what no single client can reach. */
  all: number
  seconds: number
}

/** Counts one more try of a client, and tells whether it is within the limits. */
export type AddressLimit = (address: string | undefined) => boolean

/**
 * Counts what anybody can do. A client is counted by its address first, so that it uses up its own part and nobody
 * else's; calls within this process have no address and count among all.
 */
export function limitByAddress(system: Pick<System, 'elapsed'>, { each, all, seconds }: AddressBound): AddressLimit {
  const [ofEach, ofAll] = [new Tries(system, seconds * 1000), new Tries(system, seconds * 1000)]
  return (address) => (address === undefined || ofEach.count(address) <= each) && ofAll.count('all') <= all
}
