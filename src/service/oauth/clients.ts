import { newId } from '../../core/system.ts'
import { type AddressBound, type AddressLimit, limitByAddress } from '../../core/tries.ts'
import { type Dependencies, runSettled } from '../request/settled-transaction.ts'
import { countClients, deleteUnusedClients } from '../store/oauth-records.ts'

/** The rate limits for unauthenticated clients, per process, in each minute. */
const bounds = {
  mayRegister: { each: 60, all: 1200, seconds: 60 },
  /** The limit on fetches of clients' metadata documents. */
  mayFetch: { each: 60, all: 1200, seconds: 60 },
  /**
   * The limit on entered device codes. Because there are 20^8 possible codes, this limit makes guessing hopeless
   * (RFC 8628 section 5.1).
   */
  mayEnterCode: { each: 60, all: 3000, seconds: 60 },
  /** The limit on new sign-ins. Each sign-in is stored until it ends, but for at most an hour. */
  mayBegin: { each: 120, all: 6000, seconds: 60 },
  /**
   * The limit on requests to the pages that connect a device. Each request may create a session that is stored for an
   * hour.
   */
  mayOpenDevicePage: { each: 300, all: 9000, seconds: 60 },
} as const satisfies Record<string, AddressBound>

/** The maximum number of stored clients of each kind. Clients to which nobody consented are deleted after a day. */
export const maxClients = 10_000
/** The maximum number of unused clients that one registration deletes when `maxClients` is reached. */
const deletedAtOnce = 20
/**
 * A registration deletes only unused clients that are at least this old, so that people have enough time to consent.
 */
const minUnusedMs = 60 * 60 * 1000

/**
 * The rate limits for client addresses. Each function whose name begins with `may` counts a request, and returns
 * whether the client may make this request.
 */
export type ClientLimits = Readonly<Record<Exclude<keyof typeof bounds, 'mayRegister'>, AddressLimit>> & {
  mayRegister(address: string | undefined): Promise<boolean>
  newId(): string
}

/** Creates the limits on how much data unauthenticated clients can cause the service to store or fetch. */
export function createClientLimits(dependencies: Dependencies): ClientLimits {
  const oneMoreRegistration = limitByAddress(dependencies.system, bounds.mayRegister)
  return {
    newId: () => newId('ocl', dependencies.system, dependencies.system.now()),
    mayFetch: limitByAddress(dependencies.system, bounds.mayFetch),
    mayEnterCode: limitByAddress(dependencies.system, bounds.mayEnterCode),
    mayBegin: limitByAddress(dependencies.system, bounds.mayBegin),
    mayOpenDevicePage: limitByAddress(dependencies.system, bounds.mayOpenDevicePage),
    mayRegister: async (address) => {
      if (!(await oneMoreRegistration(address))) return false
      return runSettled(dependencies, async ({ tx, realNowMs }) => {
        if ((await countClients(tx, 'Client')) < maxClients) return true
        // Without this deletion, anyone could register `maxClients` clients and block other registrations for a day.
        await deleteUnusedClients.Client(tx, { byMs: realNowMs - minUnusedMs, limit: deletedAtOnce })
        return (await countClients(tx, 'Client')) < maxClients
      })
    },
  }
}

type Metadata = Record<string, unknown>

/**
 * Returns the metadata to register for a client. It may differ from the metadata that the client requested (RFC 7591
 * section 2). No client gets a secret, because public clients cannot keep one. A client with a redirect address that is
 * not https is registered as native, because oidc-provider would let a web application redirect over plain http to any
 * host.
 */
export function metadataToRegister({ scope: _, client_secret: _secret, ...metadata }: Metadata): Metadata {
  const method = metadata.token_endpoint_auth_method
  // oidc-provider would create a secret even for a client that names no authentication method.
  const wouldGetSecret = method === undefined || (typeof method === 'string' && method.startsWith('client_secret'))
  return {
    ...metadata,
    ...(wouldGetSecret ? { token_endpoint_auth_method: 'none' } : {}),
    ...(hasOtherThanHttps(metadata.redirect_uris) ? { application_type: 'native' } : {}),
  }
}

function hasOtherThanHttps(redirectUris: unknown): boolean {
  if (!Array.isArray(redirectUris)) return false
  return redirectUris.some((uri) => typeof uri === 'string' && !uri.startsWith('https:'))
}

/** The maximum number of bytes to read from a document. oidc-provider refuses larger documents anyway. */
const maxMetadataBytes = 8 * 1024

/** Reads a document that another server sent. @throws Error if it is longer than `maxBytes` */
export async function documentText({ body }: Response, maxBytes = maxMetadataBytes): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) throw new Error('The document is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns a client's metadata document with the application type that `metadataToRegister` gives the client. */
export function readDocument(text: string): string {
  try {
    const metadata: unknown = JSON.parse(text)
    // oidc-provider refuses a document with a secret, so such a document is returned unchanged. In any other document,
    // only the application type is set.
    if (typeof metadata !== 'object' || metadata === null || 'client_secret' in metadata) return text
    const { application_type } = metadataToRegister(metadata as Metadata)
    return JSON.stringify(application_type === undefined ? metadata : { ...metadata, application_type })
  } catch {
    return text
  }
}
