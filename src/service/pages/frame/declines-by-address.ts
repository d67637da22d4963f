import type { System } from '../../../core/system.ts'
import { Tries } from '../../../core/tries.ts'
import { declinesPauseMs, tooManyTries } from '../../rules/checkout-tries.ts'

/**
 * The maximum number of declined cards from one IP address within `declinesPauseMs`. It is high because all payers in
 * a company or phone network may share an address, and some of them mistype their card details.
 */
export const maxDeclinesPerAddress = 30

/** Counts the declined cards of each client address, for all pages of this process together. */
export class DeclinesByAddress {
  readonly #tries: Tries

  constructor(system: Pick<System, 'elapsed'>) {
    this.#tries = new Tries(system, declinesPauseMs)
  }

  /** Refuses cards from an address that has too many declines. @throws 429 `rate_limited` */
  requireFew(address: string | undefined): void {
    if (address === undefined) return
    const { tries, leftMs } = this.#tries.window(address)
    if (tries >= maxDeclinesPerAddress) throw tooManyTries(leftMs)
  }

  /** Counts a decline. Returns true only for the decline that reaches the limit. */
  count(address: string | undefined): boolean {
    return address !== undefined && this.#tries.count(address) === maxDeclinesPerAddress
  }
}
