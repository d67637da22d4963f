import type { System } from '../../../core/system.ts'
import { Tries } from '../../../core/tries.ts'
import { declinesWaitMs, tooManyTries } from '../../rules/checkout-tries.ts'

/** A company or a phone network may stand behind one address, and each of its payers mistypes now and then. */
export const mostDeclinesOfAddress = 30

/** Counts the declined cards of each client address, on all pages of this process. */
export class DeclinesByAddress {
  readonly #tries: Tries

  constructor(system: Pick<System, 'elapsed'>) {
    this.#tries = new Tries(system, declinesWaitMs)
  }

  /** @throws 429 `rate_limited` for an address with too many. */
  requireFew(address: string | undefined): void {
    if (address === undefined) return
    const { tries, leftMs } = this.#tries.of(address)
    if (tries >= mostDeclinesOfAddress) throw tooManyTries(leftMs)
  }

  /** Counts one; true for the one that makes it too many. */
  count(address: string | undefined): boolean {
    return address !== undefined && this.#tries.count(address) === mostDeclinesOfAddress
  }
}
