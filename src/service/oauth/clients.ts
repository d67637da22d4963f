import { newId } from '../../core/system.ts'
import { type AddressBound, type AddressLimit, limitByAddress } from '../../core/tries.ts'
import { type Dependencies, settled } from '../request/change.ts'
import { countClients, deleteUnusedClients } from '../store/oauth-records.ts'

/** What strangers may in a minute, in one process. */
const bounds = {
  mayRegister: { each: 60, all: 1200, seconds: 60 },
  /** How often clients' metadata documents may be fetched. */
  mayFetch: { each: 60, all: 1200, seconds: 60 },
  /** Guessing a code of a device, one among 20 to the power of 8, is to be hopeless while any lives (RFC 8628, 5.1). */
  mayEnterCode: { each: 60, all: 3000, seconds: 60 },
  /** Each sign-in that begins is kept until it ends or an hour is over. */
  mayBegin: { each: 120, all: 6000, seconds: 60 },
  /** Each page where a device is connected, the ones after its form too, may be a session that is kept for an hour. */
  mayOpenDevicePage: { each: 300, all: 9000, seconds: 60 },
} as const satisfies Record<string, AddressBound>

/** Clients that registered; those that nobody connected make room after a day. */
export const mostClients = 10_000
/** How many make room at once, where there is none. */
const madeRoomFor = 20
/** Longer than a person takes to allow what an application asks for. */
const crowdedForMs = 60 * 60 * 1000

/** Whether a client may do one more of each now, by its address. */
export type ClientLimits = Readonly<Record<Exclude<keyof typeof bounds, 'mayRegister'>, AddressLimit>> & {
  mayRegister(address: string | undefined): Promise<boolean>
  newId(): string
}

/** Bounds what strangers can make the service store and fetch. */
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
      return settled(dependencies, async ({ tx, realNowMs }) => {
        if ((await countClients(tx, 'Client')) < mostClients) return true
        // Clients that strangers filled the room with are not to keep others out for a day.
        await deleteUnusedClients.Client(tx, { byMs: realNowMs - crowdedForMs, limit: madeRoomFor })
        return (await countClients(tx, 'Client')) < mostClients
      })
    },
  }
}

type Metadata = Record<string, unknown>

/**
 * The metadata of a client as this server registers it, which RFC 7591 section 2 leaves to the server: no client gets a
 * secret, for none of them could keep it, and one that is answered on its own machine is a native one, whatever it says
 * of itself: as a web application it could be answered over plain http anywhere.
 */
export function registrable({ scope: _, client_secret: _secret, ...metadata }: Metadata): Metadata {
  const method = metadata.token_endpoint_auth_method
  // Whoever names no method would get a secret too.
  const withSecret = method === undefined || (typeof method === 'string' && method.startsWith('client_secret'))
  return {
    ...metadata,
    ...(withSecret ? { token_endpoint_auth_method: 'none' } : {}),
    ...(isNative(metadata.redirect_uris) ? { application_type: 'native' } : {}),
  }
}

function isNative(redirectUris: unknown): boolean {
  if (!Array.isArray(redirectUris)) return false
  return redirectUris.some((uri) => typeof uri === 'string' && !uri.startsWith('https:'))
}

/** More than the server would read of it. */
const mostMetadataBytes = 8 * 1024

export async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.byteLength
    if (length > mostMetadataBytes) throw new Error('The document is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** A client's metadata document, read as `registrable` reads what registers. */
export function readDocument(text: string): string {
  try {
    const metadata: unknown = JSON.parse(text)
    // A document that holds a secret is refused as it is, so the type alone is filled in.
    if (typeof metadata !== 'object' || metadata === null || 'client_secret' in metadata) return text
    const { application_type } = registrable(metadata as Metadata)
    return JSON.stringify(application_type === undefined ? metadata : { ...metadata, application_type })
  } catch {
    return text
  }
}
