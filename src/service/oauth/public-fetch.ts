import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { canonicalAddress, inRanges } from '../../core/ip-addresses.ts'

/** The proxy that requests to the internet go through; undefined: none. */
export interface OutgoingProxy {
  httpsProxy: string | undefined
  /** Comma list of hosts that are reached without it. */
  noProxy: string | undefined
}

/** Addresses that are not of the public internet (IANA: IPv4 and IPv6 Special-Purpose Address Registries). */
const isSpecial = inRanges([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4'],
  ...['240.0.0.0/4', '::/128', '::1/128', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32'],
  ...['2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
])

/** A host that strangers named and that is not to be asked: it is of this machine, or of its network. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'
}

/**
 * Fetches what strangers name the address of. A name is looked up first, and the connection goes to the address that was
 * found, so that nothing is sent to a private one, not even the beginning of a connection. Through a proxy it is the
 * proxy that looks names up.
 */
export function createPublicFetch({ httpsProxy = '', noProxy = '' }: OutgoingProxy): typeof globalThis.fetch {
  let loaded: ReturnType<typeof load> | undefined
  const load = async () => {
    // In the bundle only the default export of a package in CommonJS has its names.
    const { default: undici } = await import('undici')
    const { EnvHttpProxyAgent, fetch } = undici
    const connect = { lookup: publicLookup }
    return { fetch, dispatcher: new EnvHttpProxyAgent({ httpProxy: '', httpsProxy, noProxy, connect }) }
  }
  return async (input, init) => {
    // A host that is an address is never looked up.
    refuseSpecial(new URL(String(input)).hostname.replace(/^\[|\]$/g, ''))
    loaded ??= load()
    const { fetch, dispatcher } = await loaded
    return (await fetch(String(input), { ...(init as object), dispatcher })) as unknown as Response
  }
}

const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const failure = error ?? whyRefused(found.map(({ address }) => address))
    const [first] = failure === null ? found : []
    if (first === undefined) callback(failure, [])
    else if (options.all === true) callback(null, found)
    else callback(null, first.address, first.family)
  })
}

function whyRefused(addresses: readonly string[]): Error | null {
  try {
    for (const address of addresses) refuseSpecial(address)
    return null
  } catch (error) {
    return error as Error
  }
}

function refuseSpecial(host: string): void {
  const address = canonicalAddress(host)
  if (address !== undefined && isSpecial(address)) throw new PrivateAddressError('It is at a private address.')
}
