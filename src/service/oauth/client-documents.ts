import Provider from 'oidc-provider'
import type { Logger } from '../../config/log.ts'
import { keepNewest } from '../../core/bounded-map.ts'
import { sha256 } from '../../core/system.ts'
import { type Dependencies, runSettled } from '../request/settled-transaction.ts'
import type { Store } from '../store/engine/store.ts'
import { countClients, findRecord, saveRecord } from '../store/oauth-records.ts'
import { addressIn } from './adapter.ts'
import { type ClientLimits, documentText, maxClients, readDocument } from './clients.ts'

interface DocumentDependencies extends Dependencies {
  clientLimits: ClientLimits
  fetch: typeof globalThis.fetch
  log: Logger
}

/** The error for a client metadata document that could not be read. */
export class UnreachableDocumentError extends Error {
  override readonly name = 'UnreachableDocumentError'
  /** The URL of the document, without the parts that could contain secrets. */
  readonly address: string
  constructor(clientId: string, reason: string) {
    super(reason)
    const { origin, pathname } = new URL(clientId)
    this.address = origin + pathname
  }
}

interface StoredDocument {
  text: string
  freshUntilMs: number
}

/**
 * The shortest and the longest time for which a document counts as fresh, in seconds. These limits override the
 * response's cache headers.
 */
const freshSeconds = { min: 300, max: 86_400 } as const
/**
 * How many milliseconds a failed read of a document is cached. For one page, a document is read twice; after a failure,
 * the second read fails immediately.
 */
const failedForMs = 5_000
const maxFailures = 1_000
/** The routes that begin a connection. Other routes use the stored document, however old it is. */
const beginnings = ['authorization', 'device_authorization']

/**
 * Returns a fetch function that stores clients' metadata documents in the database. So the documents survive a restart,
 * and a client can refresh its tokens even while its own site is down.
 */
export function createDocumentFetch(dependencies: DocumentDependencies): typeof globalThis.fetch {
  const { store, system, log } = dependencies
  const failures = new Map<string, { error: UnreachableDocumentError; atMs: number }>()
  return async (input, init) => {
    const clientId = String(input)
    const route = Provider.ctx?.oidc.route ?? ''
    const stored = await findDocument(store, clientId)
    if (stored !== undefined && (system.now() < stored.freshUntilMs || !beginnings.includes(route))) {
      return documentResponse(stored, system.now())
    }
    const failed = failures.get(clientId)
    if (failed !== undefined && system.now() - failed.atMs < failedForMs) throw failed.error
    try {
      const read = await readFrom(dependencies, clientId, init)
      await storeDocument(dependencies, clientId, read)
      return documentResponse(read, system.now())
    } catch (error) {
      const unreachable = new UnreachableDocumentError(clientId, reasonOf(error))
      const fields = { clientMetadata: unreachable.address, reason: unreachable.message }
      log.warn(fields, 'the metadata document of an application could not be read')
      keepNewest(failures, clientId, { error: unreachable, atMs: system.now() }, maxFailures)
      throw unreachable
    }
  }
}

/** Returns the cause of an error if that cause is an `UnreachableDocumentError`; otherwise returns undefined. */
export function unreachableIn(error: unknown): UnreachableDocumentError | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof UnreachableDocumentError ? cause : undefined
}

async function readFrom(
  { fetch, clientLimits, system }: DocumentDependencies,
  clientId: string,
  init: RequestInit | undefined,
): Promise<StoredDocument> {
  if (!clientLimits.mayFetch(addressIn(Provider.ctx))) {
    throw new Error('Too many documents were requested; try again in a minute')
  }
  const response = await fetch(clientId, init)
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`Its server responded with status ${response.status}`)
  }
  const text = readDocument(await documentText(response))
  const maxAge = Number(
    /(?:^|,)\s*max-age\s*=\s*(\d{1,9})/i.exec(response.headers.get('cache-control') ?? '')?.[1] ?? 0,
  )
  const seconds = Math.min(freshSeconds.max, Math.max(freshSeconds.min, maxAge))
  return { text, freshUntilMs: system.now() + seconds * 1000 }
}

function documentResponse({ text, freshUntilMs }: StoredDocument, nowMs: number): Response {
  const seconds = Math.max(0, Math.floor((freshUntilMs - nowMs) / 1000))
  return new Response(text, { headers: { 'Content-Type': 'application/json', 'Cache-Control': `max-age=${seconds}` } })
}

const model = 'ClientDocument'

async function findDocument(store: Store, clientId: string): Promise<StoredDocument | undefined> {
  const row = await store.read((tx) => findRecord(tx, { model, idHash: sha256(clientId) }))
  return row && (JSON.parse(row.payload) as StoredDocument)
}

/**
 * Stores a document, unless the limit on stored clients is reached. A document without the right `client_id` is not
 * stored, so that a corrected document works immediately.
 */
async function storeDocument(dependencies: Dependencies, clientId: string, document: StoredDocument): Promise<void> {
  if (!hasClientId(document.text, clientId)) return
  await runSettled(dependencies, async ({ tx, realNowMs }) => {
    if ((await countClients(tx, model)) >= maxClients) return
    const none = { grantId: null, userCodeHash: null, expiresAtMs: null }
    const payload = JSON.stringify(document)
    await saveRecord(tx, { ...none, model, idHash: sha256(clientId), uid: clientId, payload, createdAtMs: realNowMs })
  })
}

function hasClientId(text: string, clientId: string): boolean {
  try {
    return (JSON.parse(text) as { client_id?: unknown } | null)?.client_id === clientId
  } catch {
    return false
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its host name could not be looked up (ENOTFOUND)',
  EAI_AGAIN: 'its host name could not be looked up (EAI_AGAIN)',
  ECONNREFUSED: 'it refuses connections (ECONNREFUSED)',
}

/** Returns the reason for a failed read, as a clause that can follow "because". */
function reasonOf(error: unknown): string {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (cause.name === 'TimeoutError') return 'its server did not respond in time'
    if (cause.name === 'PrivateAddressError') return 'it is not at a public address'
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z_]{3,40}$/.test(cause.code)) {
      return reasons[cause.code] ?? `the connection failed (${cause.code})`
    }
  }
  const reason = error instanceof Error && error.constructor === Error ? error.message : 'the connection failed'
  return reason.charAt(0).toLowerCase() + reason.slice(1)
}
