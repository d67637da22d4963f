import { lookup } from 'node:dns'
import { isPublicAddress, mayBePublicHost } from '../../core/ip-addresses.ts'
import { checkedLookup, type OutgoingProxy, PrivateAddressError } from '../request/outgoing.ts'

/**
 * Fetches what strangers name the address of. A name is looked up first, and the connection goes to the address that was
 * found, so that nothing is sent to a private one. Through a proxy it is the proxy that looks names up.
 * Redirects are not followed.
 */
export function createPublicFetch({ httpsProxy = '', noProxy = '' }: OutgoingProxy): typeof globalThis.fetch {
  let loaded: ReturnType<typeof load> | undefined
  const load = async () => {
    // In the bundle only the default export of a package in CommonJS has its names.
    const { default: undici } = await import('undici')
    const { EnvHttpProxyAgent, fetch } = undici
    const connect = { lookup: checkedLookup(lookup, isPublicAddress) }
    return { fetch, dispatcher: new EnvHttpProxyAgent({ httpProxy: '', httpsProxy, noProxy, connect }) }
  }
  return async (input, init) => {
    // Neither an address nor, through a proxy, a name is looked up here.
    const { hostname } = new URL(String(input))
    if (!mayBePublicHost(hostname)) throw new PrivateAddressError('It is at a private address.')
    loaded ??= load()
    const { fetch, dispatcher } = await loaded
    return (await fetch(String(input), { ...(init as object), redirect: 'manual', dispatcher })) as unknown as Response
  }
}
