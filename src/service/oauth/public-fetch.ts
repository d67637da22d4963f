import { lookup } from 'node:dns'
import { isPublicAddress, mayBePublicHost } from '../../core/ip-addresses.ts'
import { checkedLookup, type OutgoingProxy, PrivateAddressError } from '../request/outgoing-connections.ts'

/**
 * Creates a fetch function for URLs that strangers provide. It refuses private addresses: it resolves the host name,
 * checks the IP address, and connects to exactly this address. If a request goes through a proxy, the proxy resolves
 * the host name, so the IP address is not checked. Redirects are not followed.
 */
export function createPublicFetch({ httpsProxy = '', noProxy = '' }: OutgoingProxy): typeof globalThis.fetch {
  let loaded: ReturnType<typeof load> | undefined
  const load = async () => {
    // In the bundle, named exports of a CommonJS package exist only on its default export.
    const { default: undici } = await import('undici')
    const { EnvHttpProxyAgent, fetch } = undici
    const connect = { lookup: checkedLookup(lookup, isPublicAddress) }
    return { fetch, dispatcher: new EnvHttpProxyAgent({ httpProxy: '', httpsProxy, noProxy, connect }) }
  }
  return async (input, init) => {
    // No lookup happens for IP addresses or for names that a proxy resolves, so the host is checked here too.
    const { hostname } = new URL(String(input))
    if (!mayBePublicHost(hostname)) throw new PrivateAddressError('It is at a private address.')
    loaded ??= load()
    const { fetch, dispatcher } = await loaded
    return (await fetch(String(input), { ...(init as object), redirect: 'manual', dispatcher })) as unknown as Response
  }
}
