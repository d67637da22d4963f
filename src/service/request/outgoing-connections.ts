import type { lookup as lookUp } from 'node:dns'
import type { LookupFunction } from 'node:net'

/** The proxy settings for requests to the internet. */
export interface OutgoingProxy {
  httpsProxy: string | undefined
  /** A comma-separated list of hosts that are reached without the proxy. */
  noProxy: string | undefined
}

/** The error for a URL that comes from outside and leads to this machine or its private network. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'
}

export type LookUp = typeof lookUp

/**
 * Creates a DNS lookup for connections. It refuses a host name if any of its addresses is not allowed. The connection
 * then uses an address that this lookup has checked, even if the name resolves differently a moment later.
 */
export function checkedLookup(lookup: LookUp, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const isRefused = error === null && !found.every(({ address }) => isAllowed(address))
      const failure = isRefused ? new PrivateAddressError('The host has a private address.') : error
      const [first] = failure === null ? found : []
      if (first === undefined) callback(failure, [])
      else if (options.all === true) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
}
