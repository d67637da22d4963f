import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import type { SigningKeyRow } from '../store/schema/signing-keys.ts'
import { deleteSigningKey, insertSigningKey, signingKeys } from '../store/signing-keys.ts'

/** The signing algorithm (RFC 7518 section 3.4). Its keys and signatures are small, and every library supports it. */
export const signingAlgorithm = 'ES256'

export type SigningKey = JWK & { kid: string }

const dayMs = 24 * 60 * 60 * 1000
/** How long a key signs tokens before a newer key replaces it. */
const signsForMs = 30 * dayMs
/**
 * How long a key is stored. In the last two days, the key signs no new tokens, but the last tokens that it signed can
 * still be verified. Tokens live for minutes, so two days are ample, even though processes cache the keys.
 */
const storedForMs = signsForMs + 2 * dayMs

/**
 * Returns the keys that are still needed to sign or verify access tokens. The first key signs new tokens. Creates a key
 * if all stored keys are too old to sign, and deletes keys that are no longer needed.
 */
export async function currentSigningKeys(store: Store): Promise<SigningKey[]> {
  const { storedKeys, readAtMs } = await store.read(async (tx) => ({
    storedKeys: await signingKeys(tx),
    readAtMs: await realNow(tx),
  }))
  if (storedKeys.some(maySign(readAtMs)) && storedKeys.every(isStillNeeded(readAtMs))) return storedKeys.map(parsed)
  const signingKey = await newKey()
  return store.transaction(async (tx) => {
    // The lock prevents two processes from creating a key at the same time.
    await tx.lock('signing keys')
    const nowMs = await realNow(tx)
    const rows = await signingKeys(tx)
    const current = rows.filter(isStillNeeded(nowMs))
    for (const { kid } of rows) if (!current.some((row) => row.kid === kid)) await deleteSigningKey(tx, kid)
    if (current.some(maySign(nowMs))) return current.map(parsed)
    const row = rowOf(signingKey, nowMs)
    await insertSigningKey(tx, row)
    return [row, ...current].map(parsed)
  })
}

/**
 * Creates a key that signs new tokens, and returns the key's id. Running processes begin to use the key within minutes.
 */
export async function addSigningKey(store: Store): Promise<string> {
  const signingKey = await newKey()
  await store.transaction(async (tx) => insertSigningKey(tx, rowOf(signingKey, await realNow(tx))))
  return signingKey.kid
}

function rowOf(key: SigningKey, createdAtMs: number): SigningKeyRow {
  return { kid: key.kid, jwk: JSON.stringify(key), createdAtMs }
}

type Creation = Pick<SigningKeyRow, 'createdAtMs'>

function maySign(nowMs: number) {
  return ({ createdAtMs }: Creation) => nowMs - createdAtMs < signsForMs
}

function isStillNeeded(nowMs: number) {
  return ({ createdAtMs }: Creation) => nowMs - createdAtMs < storedForMs
}

async function newKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: signingAlgorithm, use: 'sig' }
}

function parsed({ jwk }: { jwk: string }): SigningKey {
  return JSON.parse(jwk) as SigningKey
}
