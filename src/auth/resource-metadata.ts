import { z } from 'zod'
import { fetchAnswer, send } from '../client/send.ts'
import { parseBaseUrl } from '../config/values.ts'
import { Failure, show } from '../core/errors.ts'

export type Fetch = (request: Request) => Promise<Response>

interface ResourceMetadata {
  /** The API's identifier in token requests (RFC 8707), spelled exactly as in the metadata. */
  resource: string
  issuer: string
  scopes: readonly string[]
}

const Metadata = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()).min(1),
  scopes_supported: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/))
    .max(100)
    .default([]),
})

/**
 * Reads the API's metadata, which says how to sign in (RFC 9728). Throws a `Failure` if the metadata is missing or
 * unusable.
 */
export async function readResourceMetadata(baseUrl: string, fetch: Fetch): Promise<ResourceMetadata> {
  const { host } = new URL(baseUrl)
  const headers = { Accept: 'application/json' }
  const answer = await send(
    (signal) => fetchAnswer(fetch, new Request(metadataAddress(baseUrl), { headers, redirect: 'manual', signal })),
    { timeoutMs: 15_000, signal: undefined },
  )
  if (answer.kind === 'broken') {
    throw new Failure('service_unavailable', { detail: `Can't reach ${host}: ${answer.reason}.` })
  }
  const parsed = Metadata.safeParse(answer.json)
  if (answer.status !== 200 || !parsed.success) {
    throw new Failure('bad_gateway', {
      detail: `${host} does not say how to sign in (${answer.status} from ${metadataAddress(baseUrl)}): check the address, or use a key (PAYMENTS_KEY).`,
    })
  }
  const { resource, authorization_servers: servers, scopes_supported: scopes } = parsed.data
  // RFC 9728 section 3.3: without this check, one API could obtain tokens that another API accepts.
  if (withoutSlash(resource) !== withoutSlash(baseUrl)) {
    throw new Failure('bad_gateway', { detail: `${baseUrl} calls itself ${show(resource)}: use that as --base-url.` })
  }
  const issuer = servers[0] ?? ''
  if (parseBaseUrl(issuer) === undefined) {
    throw new Failure('bad_gateway', {
      detail: `${host} names the authorization server ${show(issuer)}, but its address must use https, or http on a loopback host.`,
    })
  }
  return { resource, issuer, scopes }
}

/** Returns the address of the metadata. `/.well-known/…` comes before the API's own path (RFC 9728 section 3.1). */
function metadataAddress(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl)
  return `${origin}/.well-known/oauth-protected-resource${pathname.replace(/\/$/, '')}`
}

function withoutSlash(address: string): string {
  return (URL.parse(address)?.href ?? address).replace(/\/$/, '')
}
