import type { Context } from 'hono'
import type { ArrivingBody } from '../../core/body-budget.ts'
import { canonicalAddress, countedAddress, inRanges } from '../../core/ip-addresses.ts'

/** The sender of a request over a network. Calls within this process have no such sender. */
export interface Caller {
  /** Whether the request was sent on this machine and through no proxy, so that its sender is a local user. */
  local: boolean
  /** The IPv4 address, or the /64 network of the IPv6 address, by which unauthenticated requests are counted. */
  address: string
  /** The arriving body; undefined if there is none, or if it is already in this process's memory. */
  body?: ArrivingBody | undefined
}

/** Returns the sender of a request; undefined if the request came from within this process. */
export function callerOf(c: Context): Caller | undefined {
  const caller = c.env as Partial<Caller> | undefined
  return caller?.address === undefined ? undefined : (caller as Caller)
}

/** A connection's address and proxy header. Node joins several X-Forwarded-For headers with commas. */
export interface Connection {
  socket: { readonly remoteAddress?: string | undefined }
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/**
 * Creates the function that finds the client's address. Usually this is the connection's own address. Behind a trusted
 * proxy, it is the rightmost address in X-Forwarded-For that does not belong to a trusted proxy. Addresses further left
 * may be forged.
 */
export function clientAddress(trustedProxies: readonly string[]): (connection: Connection) => string {
  const isTrusted = inRanges(trustedProxies)
  return ({ socket, headers }) => {
    let client = canonicalAddress(socket.remoteAddress ?? '')
    // Closed connections have no address. All of them count as one client.
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
