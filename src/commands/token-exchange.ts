import { keepNewest } from '../core/bounded-map.ts'
import { Failure } from '../core/errors.ts'
import { type System, sha256 } from '../core/system.ts'
import { tokenExchangeGrant } from '../service/tokens/resources.ts'

interface TokenExchange {
  fetch: (request: Request) => Promise<Response>
  /** The address of the API. */
  baseUrl: string
  system: Pick<System, 'now'>
}

/** The maximum number of cached tokens. If there are more, the oldest token is dropped. */
const maxCached = 10_000
/** How long before its expiry a token is renewed. No call takes that long, so no token expires during a call. */
const renewedBeforeEndMs = 60_000

/**
 * Returns a function that turns a host's credential into a credential for the API. The function returns a key
 * unchanged, and exchanges an access token for an API token (RFC 8693). It throws `unauthenticated` if the API refuses
 * the access token.
 */
export function createTokenExchange({
  fetch,
  baseUrl,
  system,
}: TokenExchange): (credential: string) => Promise<string> {
  const cache = new Map<string, { token: Promise<string>; endsAtMs: number }>()

  const exchanged = async (credential: string, entry: { endsAtMs: number }): Promise<string> => {
    const body = new URLSearchParams({
      grant_type: tokenExchangeGrant,
      subject_token: credential,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    })
    const response = await fetch(new Request(`${baseUrl}/oauth/token`, { method: 'POST', body }))
    if (response.status === 429 || response.status >= 500) throw new Failure('service_unavailable')
    if (response.status !== 200) {
      throw new Failure('unauthenticated', { detail: 'The user ended this connection. Connect again to continue.' })
    }
    const { access_token, expires_in } = (await response.json()) as { access_token: string; expires_in: number }
    entry.endsAtMs = system.now() + expires_in * 1000
    return access_token
  }

  return async (credential) => {
    // A credential without a dot is a key, which the API accepts as it is (docs/service.md#authentication).
    if (!credential.includes('.')) return credential
    const hash = sha256(credential)
    const cached = cache.get(hash)
    if (cached !== undefined && system.now() < cached.endsAtMs - renewedBeforeEndMs) return cached.token
    const entry = { token: Promise.resolve(''), endsAtMs: Number.POSITIVE_INFINITY }
    entry.token = exchanged(credential, entry)
    keepNewest(cache, hash, entry, maxCached)
    try {
      return await entry.token
    } catch (error) {
      cache.delete(hash)
      throw error
    }
  }
}
