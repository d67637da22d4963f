import { keepNewest } from '../../../core/bounded-map.ts'
import type { System } from '../../../core/system.ts'
import { declinesWaitMs, tooManyTries } from '../../rules/checkout-tries.ts'

/** A company or a phone network may stand behind one address, and each of its payers mistypes now and then. */
export const mostDeclinesOfAddress = 30
/** Bounds what is kept; the address that was declined the longest ago goes first. */
const mostAddresses = 10_000

interface Tries {
  declines: number
  /** When its declines are forgotten. */
  endsAtMs: number
}

/** Counts the declined cards of each client address, on all pages of this process, by real time. */
export class DeclinesByAddress {
  readonly #system: Pick<System, 'now'>
  readonly #tries = new Map<string, Tries>()

  constructor(system: Pick<System, 'now'>) {
    this.#system = system
  }

  /** @throws 429 `rate_limited` for an address with too many. */
  requireFew(address: string | undefined): void {
    const tries = this.#of(address)
    if (tries !== undefined && tries.declines >= mostDeclinesOfAddress) {
      throw tooManyTries(tries.endsAtMs - this.#system.now())
    }
  }

  /** Counts one; true for the one that makes it too many. */
  count(address: string | undefined): boolean {
    if (address === undefined) return false
    const { declines, endsAtMs } = this.#of(address) ?? { declines: 0, endsAtMs: this.#system.now() + declinesWaitMs }
    keepNewest(this.#tries, address, { declines: declines + 1, endsAtMs }, mostAddresses)
    return declines + 1 === mostDeclinesOfAddress
  }

  #of(address: string | undefined): Tries | undefined {
    const tries = address === undefined ? undefined : this.#tries.get(address)
    return tries !== undefined && tries.endsAtMs > this.#system.now() ? tries : undefined
  }
}
