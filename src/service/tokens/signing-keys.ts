import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import type { SigningKeyRow } from '../store/schema/signing-keys.ts'
import { deleteSigningKey, insertSigningKey, signingKeys } from '../store/signing-keys.ts'

/** The signing algorithm. It has small keys and signatures, and every library supports it (RFC 7518 section 3.4). */
export const signingAlgorithm = 'ES256'

export type SigningKey = JWK & { kid: string }

const dayMs = 24 * 60 * 60 * 1000
/** How long a key signs tokens before a newer key replaces it. */
const signsForMs = 30 * dayMs
/**
 * How long a key is stored. During the two extra days the key signs no new tokens, but it still verifies the last ones.
 * Two days are ample, even if processes cache the keys.
 */
const storedForMs = signsForMs + 2 * dayMs

/**
 * Returns the keys that may have signed access tokens that are still valid. The first of them signs new tokens. Creates
 * a key if all stored keys are too old to sign, and deletes keys that are no longer needed.
 */
export async function currentSigningKeys(store: Store): Promise<SigningKey[]> {
  const { storedKeys, readAtMs } = await store.read(async (tx) => ({
    storedKeys: await signingKeys(tx),
    readAtMs: await realNow(tx),
  }))
  if (storedKeys.some(maySign(readAtMs)) && storedKeys.every(isStillNeeded(readAtMs))) return storedKeys.map(parsed)
  const signingKey = await newKey()
  return store.transaction(async (tx) => {
    // The lock keeps two processes from both creating a key.
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

/** Creates a key that signs tokens from now on. Other processes begin to use it within minutes. Returns its id. */
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
