import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server'

/** A server that wants to know which addresses its host of 2026-07-28 listens to: the SDK answers that request itself. */
export interface Listening extends Server {
  listens?(addresses: readonly string[]): void
}

/** The addresses that a `subscriptions/listen` wants to hear of; the SDK refuses what has no such form. */
export function listenedAddresses(message: JSONRPCMessage): string[] {
  const params = 'params' in message ? (message.params as { notifications?: { resourceSubscriptions?: unknown } }) : {}
  const addresses = params?.notifications?.resourceSubscriptions
  return Array.isArray(addresses) ? addresses.filter((address) => typeof address === 'string') : []
}
