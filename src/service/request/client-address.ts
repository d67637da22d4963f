import type { Context } from 'hono'
import type { ArrivingBody } from '../../core/body-budget.ts'
import { canonicalAddress, countedAddress, inRanges } from '../../core/ip-addresses.ts'

/** The sender of a request that arrived over a network. A call from within this process has no such sender. */
export interface Caller {
  /** Whether the request came from this machine and without a proxy. If so, the sender is a user of this machine. */
  local: boolean
  /** The sender's IPv4 address or IPv6 /64 network, by which unauthenticated requests are counted. */
  address: string
  /** The body that is still arriving; undefined if the request has no body or the body is already in memory. */
  body?: ArrivingBody | undefined
}

/** Returns the sender of a request; undefined if the request came from within this process. */
export function callerOf(c: Context): Caller | undefined {
  const caller = c.env as Partial<Caller> | undefined
  return caller?.address === undefined ? undefined : (caller as Caller)
}

/**
 * The address of a connection, and the headers of a request on it. Node joins repeated X-Forwarded-For headers with
 * commas.
 */
export interface Connection {
  socket: { readonly remoteAddress?: string | undefined }
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/**
 * Creates the function that finds the client's address. Without a trusted proxy, this is the address of the connection.
 * Behind a trusted proxy, it is the rightmost address in X-Forwarded-For that does not belong to a trusted proxy. The
 * client may have forged the addresses to the left of it.
 */
export function clientAddress(trustedProxies: readonly string[]): (connection: Connection) => string {
  const isTrusted = inRanges(trustedProxies)
  return ({ socket, headers }) => {
    let client = canonicalAddress(socket.remoteAddress ?? '')
    // Closed connections have no address. All closed connections count as one client.
    if (client === undefined) return 'unknown'
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    while (isTrusted(client)) {
      const before = canonicalAddress(withoutPort(forwarded.pop()?.trim() ?? ''))
      if (before === undefined) break
      client = before
    }
    return countedAddress(client)
  }
}

/** Removes the port that some proxies add, as in `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  return text.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
}
