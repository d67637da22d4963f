import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'
import { keepNewest } from '../../core/bounded-map.ts'
import { isLoopback } from '../../core/loopback.ts'
import type { Environment } from '../../core/operation.ts'
import { addressProblem, allowsLocalAddresses } from '../request/webhook-addresses.ts'
import { documentText } from './clients.ts'

/** The maximum number of identity providers whose keys are cached. If there are more, the oldest entry is dropped. */
const maxProviders = 200
/**
 * The maximum size of a key set. Key sets of real identity providers are smaller, even if they contain certificates.
 */
const maxBytes = 128 * 1024
const timing = { timeoutDuration: 5_000, cacheMaxAge: 60_000, cooldownDuration: 10_000 } as const

interface KeyDependencies {
  environment: Environment
  publicUrl: string
  fetch: typeof globalThis.fetch
}

/**
 * Creates a function that looks up the public keys at an identity provider's `jwksUri`. As with webhooks, the address
 * must be public; a sandbox that only this machine can reach also allows loopback addresses. Keys are cached for a
 * minute. An unknown key id causes a new fetch at most every ten seconds.
 */
export function createIssuerKeys({ environment, publicUrl, fetch }: KeyDependencies) {
  const keysByIssuer = new Map<string, JWTVerifyGetKey>()
  const read = async (address: string, init: RequestInit): Promise<Response> => {
    const problem = addressProblem(address, allowsLocalAddresses(environment, publicUrl))
    if (problem !== undefined) throw new Error(`jwksUri ${problem}`)
    const fetchKeys = isLoopback(address) ? globalThis.fetch : fetch
    const response = await fetchKeys(address, { ...init, redirect: 'manual' })
    return new Response(await documentText(response, maxBytes), { status: response.status || 502 })
  }
  return (jwksUri: string): JWTVerifyGetKey => {
    const keys = keysByIssuer.get(jwksUri) ?? createRemoteJWKSet(new URL(jwksUri), { ...timing, [customFetch]: read })
    if (!keysByIssuer.has(jwksUri)) keepNewest(keysByIssuer, jwksUri, keys, maxProviders)
    return keys
  }
}
