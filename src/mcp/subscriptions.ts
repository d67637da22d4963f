import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

/** The longest address of a resource that can be read. */
export const longestAddress = 4_096

/** Limits far above what any host watches at once. */
const maxSubscriptions = 1_000
const maxTotalCharacters = 64 * 1024

/** The resources whose changes a connection's host subscribed to. */
export class Subscriptions {
  #addresses = new Set<string>()
  /** Whether the host is notified of changes by others. */
  isFollowing = false

  get isEmpty(): boolean {
    return this.#addresses.size === 0
  }

  has(address: string): boolean {
    return this.#addresses.has(address)
  }

  /** Adds a watched address. @throws {ProtocolError} if the host watches too many addresses */
  add(address: string): void {
    const characters = [...this.#addresses].reduce((sum, { length }) => sum + length, address.length)
    const fits = this.#addresses.size < maxSubscriptions && characters <= maxTotalCharacters
    if (address.length > longestAddress || (!fits && !this.has(address))) {
      const message = `A connection watches at most ${maxSubscriptions} resources, with addresses of at most ${longestAddress} characters, ${maxTotalCharacters} together.`
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    this.#addresses.add(address)
  }

  /** Adds addresses that the SDK has already accepted; beyond the limit, only the newest stay. */
  addAccepted(addresses: readonly string[]): void {
    const fitting = addresses.filter((address) => address.length <= longestAddress)
    this.#addresses = new Set([...this.#addresses, ...fitting].slice(-maxSubscriptions))
  }

  remove(address: string): void {
    this.#addresses.delete(address)
  }
}
