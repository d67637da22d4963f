import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

/** No address of a resource that can be read is longer. */
export const longestAddress = 4_096

/** More than any host watches at a time, and than it takes to name that. */
const mostSubscriptions = 1_000
const mostCharacters = 64 * 1024

/** The resources that a connection's host wants to hear of. */
export class Subscriptions {
  #addresses = new Set<string>()
  /** Whether the host is told of what others do. */
  isFollowing = false

  has(address: string): boolean {
    return this.#addresses.has(address)
  }

  /** @throws {ProtocolError} where the host watches too much */
  add(address: string): void {
    const characters = [...this.#addresses].reduce((sum, { length }) => sum + length, address.length)
    const fits = this.#addresses.size < mostSubscriptions && characters <= mostCharacters
    if (address.length > longestAddress || (!fits && !this.has(address))) {
      const message = `A connection watches at most ${mostSubscriptions} resources, with addresses of at most ${longestAddress} characters, ${mostCharacters} together.`
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    this.#addresses.add(address)
  }

  /** Adds addresses that the SDK has taken already; the newest count. */
  addTaken(addresses: readonly string[]): void {
    const fitting = addresses.filter((address) => address.length <= longestAddress)
    this.#addresses = new Set([...this.#addresses, ...fitting].slice(-mostSubscriptions))
  }

  remove(address: string): void {
    this.#addresses.delete(address)
  }
}
