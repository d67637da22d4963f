import { equalSecrets, hmac, newSecret, type System } from '../../core/system.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { RootKeyRow } from './schema/root-keys.ts'

/** The keys that the service derives its own secrets and signatures from. Each use mixes in what it is for. */
export interface RootKeys {
  /** The newest key's signature of a text. It says which key made it, so that it stays good when there is a newer one. */
  sign(text: string): string
  /** Whether a signature is this text's, whichever key made it. */
  verify(text: string, signature: string): boolean
  /** A text's signatures by every key, the newest first: for what is known by the hash of one of them. */
  signatures(text: string): string[]
  /** A secret of 64 hexadecimal digits, by the key of that id. */
  derive(id: number, text: string): string
  newestId: number
}

/** What a signature looks like, for the patterns of texts that one is a part of. */
export const signaturePattern = '(?:[2-9]_|[1-9]\\d{1,5}_)?[0-9a-f]{64}'

const wholeSignature = new RegExp(`^${signaturePattern}$`)

/** Whether a text can be a signature at all. */
export function looksLikeSignature(text: string): boolean {
  return wholeSignature.test(text)
}

export async function rootKeys(tx: Transaction): Promise<RootKeys> {
  const stored = (await newestFirst(tx, {})).rows
  const rows = await Promise.all(stored.map(async (row) => ({ ...row, secret: await tx.wrapping.open(row.secret) })))
  const [newest] = rows
  if (newest === undefined) throw new Error('Bug: there is no root key.')
  return {
    sign: (text) => signatureOf(newest, text),
    verify: (text, signature) => {
      const row = rows.find(({ id }) => id === idIn(signature))
      return row !== undefined && equalSecrets(signature, signatureOf(row, text))
    },
    signatures: (text) => rows.map((row) => signatureOf(row, text)),
    derive: (id, text) => {
      const row = rows.find((one) => one.id === id)
      if (row === undefined) throw new Error(`Bug: the root key ${id} is gone.`)
      return hmac(row.secret, text)
    },
    newestId: newest.id,
  }
}

/** Makes a key that is the newest from now on; gives its id. */
export async function addRootKey(tx: Transaction, system: System, createdAtMs: number): Promise<number> {
  await tx.lock('root keys')
  const id = (await rootKeys(tx)).newestId + 1
  const secret = await tx.wrapping.wrap(newSecret(system))
  await tx.db.insertInto('rootKeys').values({ id, secret, createdAtMs }).execute()
  return id
}

/** What the first key signed is older than the ids of keys, so it carries none. */
function signatureOf({ id, secret }: RootKeyRow, text: string): string {
  const signature = hmac(secret, text)
  return id === 1 ? signature : `${id}_${signature}`
}

function idIn(signature: string): number {
  return Number(/^(\d+)_/.exec(signature)?.[1] ?? 1)
}

const newestFirst = prepared((db, _none: object) => db.selectFrom('rootKeys').selectAll().orderBy('id', 'desc'))
