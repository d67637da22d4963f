import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

/** The maximum length of a resource's address, in characters. */
export const longestAddress = 4_096

/** The limits on one connection's subscriptions. They are far above what any host needs. */
const maxSubscriptions = 1_000
const maxTotalCharacters = 64 * 1024

/** The addresses of the resources that the host of one connection has subscribed to. */
export class Subscriptions {
  #addresses = new Set<string>()
  /** Whether `followChanges` already notifies the host of changes that others make. */
  isFollowing = false

  get isEmpty(): boolean {
    return this.#addresses.size === 0
  }

  has(address: string): boolean {
    return this.#addresses.has(address)
  }

  /** Subscribes to an address. @throws {ProtocolError} if this address alone, or all together, would exceed a limit */
  add(address: string): void {
    const characters = [...this.#addresses].reduce((sum, { length }) => sum + length, address.length)
    const fits = this.#addresses.size < maxSubscriptions && characters <= maxTotalCharacters
    if (address.length > longestAddress || (!fits && !this.has(address))) {
      const message = `A connection can subscribe to at most ${maxSubscriptions} resources. Each address can have ${longestAddress} characters, all addresses together ${maxTotalCharacters}.`
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    this.#addresses.add(address)
  }

  /**
   * Adds the addresses of a request that the SDK has already accepted, except for addresses that are too long. If there
   * are then more than `maxSubscriptions`, drops the oldest.
   */
  addAccepted(addresses: readonly string[]): void {
    const fitting = addresses.filter((address) => address.length <= longestAddress)
    this.#addresses = new Set([...this.#addresses, ...fitting].slice(-maxSubscriptions))
  }

  remove(address: string): void {
    this.#addresses.delete(address)
  }
}
