import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server'

/** A server that learns which addresses an MCP 2026 host listens to, although the SDK answers that request itself. */
export interface ListenAwareServer extends Server {
  onListen?(addresses: readonly string[]): void
}

/** Returns the addresses that a `subscriptions/listen` asks for; the SDK refuses a malformed request. */
export function listenedAddresses(message: JSONRPCMessage): string[] {
  const params = 'params' in message ? (message.params as { notifications?: { resourceSubscriptions?: unknown } }) : {}
  const addresses = params?.notifications?.resourceSubscriptions
  return Array.isArray(addresses) ? addresses.filter((address) => typeof address === 'string') : []
}
