import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server'

/**
 * A server with a callback that receives the addresses in `subscriptions/listen` requests of MCP 2026. The SDK answers
 * these requests itself.
 */
export interface ListenAwareServer extends Server {
  onListen?(addresses: readonly string[]): void
}

/** Returns the addresses in a `subscriptions/listen` request. Ignores malformed parts, which the SDK refuses. */
export function listenedAddresses(message: JSONRPCMessage): string[] {
  const params = 'params' in message ? (message.params as { notifications?: { resourceSubscriptions?: unknown } }) : {}
  const addresses = params?.notifications?.resourceSubscriptions
  return Array.isArray(addresses) ? addresses.filter((address) => typeof address === 'string') : []
}
