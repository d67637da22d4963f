import { type Kysely, type RawBuilder, sql } from 'kysely'
import { equalSecrets, hmac, newSecret, type System, seal, unseal } from '../../core/system.ts'
import { secretsOfRetiredKeys } from './carried-secrets.ts'
import type { LoadedKey } from './engine/key-wrapping.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { CarriedSecretRow } from './schema/carried-secrets.ts'
import type { RootKeyRow } from './schema/root-keys.ts'
import type { Tables } from './schema/tables.ts'

/**
 * The keys from which the service derives its own secrets and signatures. Each secret or signature is derived from a
 * key and a text that states the purpose. Before a key is retired, its secrets that are still needed are stored
 * (`retireRootKeys`). Then the key itself is deleted.
 */
export interface RootKeys {
  /** Signs a text with the newest key. The signature identifies this key, so it stays valid when a key is added. */
  sign(text: string): string
  /** Signs a text with the key that has the given id. */
  signBy(id: number, text: string): string
  /** Returns each key's signature of a text, the newest key's first. Retired keys can sign only `lastingTexts`. */
  signatures(text: string): string[]
  /**
   * Derives a secret of 64 hexadecimal digits with the key that has the given id. A retired key can derive only the
   * secrets of `lastingTexts`.
   */
  derive(id: number, text: string): string
  /** Derives the secret of a text in `lastingTexts`. This secret stays the same when keys are added or retired. */
  lasting(text: string): string
  newestId: number
  /** The id of the oldest key that is not retired. */
  oldestId: number
  /** The ids of the keys that are not retired, newest first. */
  ids: readonly number[]
}

/** The texts whose secrets must outlive the key that derived them. None of these texts depends on a stored record. */
export const lastingTexts = {
  eventIds: 'ids of events',
  recordedAnswers: 'recorded answers',
  sentCalls: 'derived sent calls',
  mcpQuestions: 'derived mcp questions',
  mcpRequestState: 'derived mcp request state',
  seededApiKey: 'seeded api_key',
  seededAgentKey: 'seeded agent_key',
} as const

/** The source of a regular expression for a signature, for use inside other regular expressions. */
export const signaturePattern = '(?:[2-9]_|[1-9]\\d{1,5}_)?[0-9a-f]{64}'

const wholeSignature = new RegExp(`^${signaturePattern}$`)

/** Returns whether a string has the form of a signature. */
export function looksLikeSignature(value: string): boolean {
  return wholeSignature.test(value)
}

export async function rootKeys(tx: Transaction): Promise<RootKeys> {
  const all = await loadedKeys(tx)
  const live = all.filter(({ isRetired }) => !isRetired)
  const [newest, oldest] = [live[0], live.at(-1)]
  if (newest === undefined || oldest === undefined) throw new Error('Bug: there is no root key.')
  const derive = (id: number, text: string) => {
    const secret = all.find((one) => one.id === id)?.derive(text)
    if (secret === undefined) throw new Error(`Bug: the root key ${id} cannot derive this secret.`)
    return secret
  }
  return {
    sign: (text) => signatureOf(newest.id, derive(newest.id, text)),
    signBy: (id, text) => signatureOf(id, derive(id, text)),
    signatures: (text) => signaturesBy(all, text),
    derive,
    lasting: (text) => {
      const keyOfText = all.toReversed().find((one) => one.derive(text) !== undefined)
      return derive(keyOfText?.id ?? oldest.id, text)
    },
    newestId: newest.id,
    oldestId: oldest.id,
    ids: live.map(({ id }) => id),
  }
}

/** Returns whether a key, possibly a retired one, made this signature of the text. */
export async function isSignatureOf(tx: Transaction, text: string, signature: string): Promise<boolean> {
  const id = keyOfSignature(signature)
  const derived = await derivedOf(tx, id, text)
  return derived !== undefined && equalSecrets(signature, signatureOf(id, derived))
}

/**
 * A function that calls `matches` with each key's signature of a text, including the signatures of retired keys. It
 * returns the first signature that `matches` accepts; undefined if there is none.
 */
export type FindSignature = (text: string, matches: (signature: string) => boolean) => Promise<string | undefined>

/**
 * Creates a function that finds the signature for a record that stores only a hash of the signature. The keys are
 * loaded only once for all calls of this function.
 */
export async function signatureFinder(tx: Transaction): Promise<FindSignature> {
  const all = await tx.shared(loadedKeys)
  return async (text, matches) => {
    const signatureByKey = signaturesBy(all, text).find(matches)
    if (signatureByKey !== undefined || !all.some(({ isRetired }) => isRetired)) return signatureByKey
    for (const row of await secretsOfRetiredKeys(tx, text)) {
      const signature = signatureOf(row.keyId, await openCarriedSecret(tx, row))
      if (matches(signature)) return signature
    }
    return undefined
  }
}

/**
 * Returns the secret that a key, possibly a retired one, derived from a text.
 * @throws Error if there is no such key, or if the key is retired and the secret was not stored.
 */
export async function derivedSecret(tx: Transaction, id: number, text: string): Promise<string> {
  const secret = await derivedOf(tx, id, text)
  if (secret === undefined) throw new Error(`Bug: the root key ${id} cannot derive this secret.`)
  return secret
}

async function derivedOf(tx: Transaction, id: number, text: string): Promise<string | undefined> {
  const key = (await tx.shared(loadedKeys)).find((one) => one.id === id)
  const secret = key?.derive(text)
  if (secret !== undefined || key === undefined) return secret
  const row = (await secretsOfRetiredKeys(tx, text)).find(({ keyId }) => keyId === id)
  return row && openCarriedSecret(tx, row)
}

/** Adds a key, which becomes the newest key. Returns its id. */
export async function addRootKey(tx: Transaction, system: System, createdAtMs: number): Promise<number> {
  await tx.lock('root keys')
  const id = (await rootKeys(tx)).newestId + 1
  const secret = await tx.wrapping.wrap(newSecret(system))
  await tx.db.insertInto('rootKeys').values({ id, secret, createdAtMs, lasting: null }).execute()
  tx.journal.keysVersion = undefined
  return id
}

/**
 * Waits until no other transaction uses the keys, and locks the keys for this transaction. Every transaction that uses
 * the keys has read the table `rootKeys`, so it holds a lock on this table until it ends. SQLite needs no such lock,
 * because only one transaction writes at a time.
 */
export async function lockKeys(tx: Transaction): Promise<void> {
  tx.runAlone()
  if (tx.dialect === 'postgres') await sql`lock table "rootKeys" in access exclusive mode`.execute(tx.db)
}

/** Deletes keys. Encrypts the lasting secrets of these keys, and of keys deleted earlier, with the newest key. */
export async function forgetRootKeys(tx: Transaction, system: System, ids: readonly number[]): Promise<void> {
  const all = await loadedKeys(tx)
  const [newest] = all
  if (newest === undefined || newest.isRetired || ids.includes(newest.id)) throw new Error('Bug: newest key deleted.')
  for (const key of all) {
    if (!key.isRetired && !ids.includes(key.id)) continue
    const texts = Object.values(lastingTexts)
    const derived = Object.fromEntries(texts.map((text) => [text, key.derive(text)]))
    const box = seal(system, newest.derive(lastingBox(key.id)) ?? '', JSON.stringify(derived))
    await tx.db
      .updateTable('rootKeys')
      .set({ secret: '', lasting: `${newest.id}.${box}` })
      .where('id', '=', key.id)
      .execute()
  }
  tx.journal.keysVersion = undefined
}

/**
 * Returns the text from which the encryption key of a carried secret is derived. A carried secret is a retired key's
 * secret that is stored in `carriedSecrets`.
 */
export function carriedBox(keyId: number, textHash: string): string {
  return `carried secret ${keyId} ${textHash}`
}

/** Decrypts a carried secret. */
export async function openCarriedSecret(
  tx: Transaction,
  { keyId, textHash, sealedBy, sealed }: CarriedSecretRow,
): Promise<string> {
  const { derive } = await tx.shared(rootKeys)
  const secret = unseal(derive(sealedBy, carriedBox(keyId, textHash)), sealed)
  if (secret === undefined) throw new Error(`Bug: a secret of the retired root key ${keyId} cannot be decrypted.`)
  return secret
}

/**
 * Selects a number that changes whenever a key is added or retired. The query that reads the clock includes this
 * number. A process reads and decrypts the keys again only when the number has changed.
 */
export function keysVersionIn(db: Kysely<Tables>): RawBuilder<number> {
  const [total, retired] = [db.fn.count<number>('id'), db.fn.count<number>('lasting')]
  return sql<number>`(select ${total} * 1000000 + ${retired} from ${sql.table('rootKeys')})`
}

/** Returns all keys, newest first. Loads them only if a key has changed since this process last loaded them. */
async function loadedKeys(tx: Transaction): Promise<readonly LoadedKey[]> {
  const version = await tx.journal.keysVersion
  const { loaded } = tx.wrapping
  if (version !== undefined && loaded?.version === version) return loaded.keys
  const keys = await loadKeys(tx)
  if (version !== undefined) tx.wrapping.loaded = { version, keys }
  return keys
}

async function loadKeys(tx: Transaction): Promise<LoadedKey[]> {
  const rows = (await newestFirst(tx, {})).rows
  const live = new Map<number, string>()
  for (const row of rows) if (row.lasting === null) live.set(row.id, await tx.wrapping.open(row.secret))
  return rows.map(({ id, lasting }) => {
    const secret = live.get(id)
    if (secret !== undefined) return { id, isRetired: false, derive: (text) => hmac(secret, text) }
    const secretsByText = openLastingSecrets(live, id, lasting)
    return { id, isRetired: true, derive: (text) => secretsByText[text] }
  })
}

const lastingBox = (id: number) => `lasting secrets of root key ${id}`

function openLastingSecrets(live: ReadonlyMap<number, string>, id: number, sealed: RootKeyRow['lasting']) {
  const [sealedBy = '', box = ''] = (sealed ?? '').split('.')
  const json = unseal(hmac(live.get(Number(sealedBy)) ?? '', lastingBox(id)), box)
  if (json === undefined) throw new Error(`Bug: the lasting secrets of the root key ${id} cannot be decrypted.`)
  return JSON.parse(json) as Record<string, string | undefined>
}

function signaturesBy(keys: readonly LoadedKey[], text: string): string[] {
  return keys.flatMap(({ id, derive }) => {
    const secret = derive(text)
    return secret === undefined ? [] : [signatureOf(id, secret)]
  })
}

/** Formats a signature. Key 1 signs without its id, because the first signatures were made before keys had ids. */
function signatureOf(id: number, secret: string): string {
  return id === 1 ? secret : `${id}_${secret}`
}

/** Returns the id of the key that made a signature. */
export function keyOfSignature(signature: string): number {
  return Number(/^(\d+)_/.exec(signature)?.[1] ?? 1)
}

const newestFirst = prepared((db, _none: object) => db.selectFrom('rootKeys').selectAll().orderBy('id', 'desc'))
