import { keepNewest } from './bounded-map.ts'
import type { System } from './system.ts'

/** The maximum number of keys. If there are more, the key that has gone longest without a try is forgotten. */
const maxKeys = 10_000

interface Window {
  tries: number
  /** The end of the window, on the monotonic clock. */
  endsAtMs: number
}

/**
 * Counts tries for each key, in this process's memory. A key's first try begins a time window. The first try after a
 * window has ended begins a new window, and the count starts again.
 */
export class Tries {
  readonly #system: Pick<System, 'elapsed'>
  readonly #windowMs: number
  readonly #windows = new Map<string, Window>()

  constructor(system: Pick<System, 'elapsed'>, windowMs: number) {
    this.#system = system
    this.#windowMs = windowMs
  }

  /** Counts a try. Returns the number of tries in the key's window, including this one. */
  count(key: string): number {
    const { tries, endsAtMs } = this.window(key)
    keepNewest(this.#windows, key, { tries: tries + 1, endsAtMs }, maxKeys)
    return tries + 1
  }

  /** Returns the key's current window. If there is none, returns an empty window that begins now. */
  window(key: string): Readonly<Window> & { leftMs: number } {
    const nowMs = this.#system.elapsed()
    const window = this.#windows.get(key)
    const { tries, endsAtMs } =
      window && window.endsAtMs > nowMs ? window : { tries: 0, endsAtMs: nowMs + this.#windowMs }
    return { tries, endsAtMs, leftMs: endsAtMs - nowMs }
  }
}

/** A rate limit for anonymous clients. Each process counts separately. */
export interface AddressBound {
  /** The maximum number of tries from one IP address. */
  each: number
  /**
   * The maximum number of tries by all clients together. It is greater than `each`, so that no single client can use up
   * all tries.
   */
  all: number
  seconds: number
}

/** Counts a try from an address, and returns whether the try is within the limits. */
export type AddressLimit = (address: string | undefined) => boolean

/**
 * Creates a rate limit for actions that are open to anyone. The address's own limit is checked first, so that tries
 * beyond that limit do not count toward the total. A call from within this process has no address, so only the total
 * limit applies to it.
 */
export function limitByAddress(system: Pick<System, 'elapsed'>, { each, all, seconds }: AddressBound): AddressLimit {
  const [perAddress, total] = [new Tries(system, seconds * 1000), new Tries(system, seconds * 1000)]
  return (address) => (address === undefined || perAddress.count(address) <= each) && total.count('all') <= all
}
