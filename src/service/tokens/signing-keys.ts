import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import type { SigningKeyRow } from '../store/schema/signing-keys.ts'
import { deleteSigningKey, insertSigningKey, signingKeys } from '../store/signing-keys.ts'

/** RFC 7518 section 3.4: small keys and signatures, known to every library. */
export const signingAlgorithm = 'ES256'

export type SigningKey = JWK & { kid: string }

const dayMs = 24 * 60 * 60 * 1000
/** A key signs for so long; a newer one then takes over. */
const signsForMs = 30 * dayMs
/** Far longer than a token lives: whoever has cached the published keys finds the one that it needs. */
const keptForMs = signsForMs + 2 * dayMs

/**
 * The keys that access tokens may be signed with, the one that signs first. When it is time to, makes a new one and
 * forgets those that are past.
 */
export async function currentSigningKeys(store: Store): Promise<SigningKey[]> {
  const { known, knownAtMs } = await store.read(async (tx) => ({
    known: await signingKeys(tx),
    knownAtMs: await realNow(tx),
  }))
  if (known.some(signs(knownAtMs)) && known.every(isKept(knownAtMs))) return known.map(parsed)
  const made = await newKey()
  return store.transaction(async (tx) => {
    // Where two processes find that it is time, one makes the key.
    await tx.lock('signing keys')
    const nowMs = await realNow(tx)
    const rows = await signingKeys(tx)
    const kept = rows.filter(isKept(nowMs))
    for (const { kid } of rows) if (!kept.some((row) => row.kid === kid)) await deleteSigningKey(tx, kid)
    if (kept.some(signs(nowMs))) return kept.map(parsed)
    const row = rowOf(made, nowMs)
    await insertSigningKey(tx, row)
    return [row, ...kept].map(parsed)
  })
}

/** Makes a key that signs from now on, within minutes at every process; gives its id. */
export async function addSigningKey(store: Store): Promise<string> {
  const made = await newKey()
  await store.transaction(async (tx) => insertSigningKey(tx, rowOf(made, await realNow(tx))))
  return made.kid
}

function rowOf(key: SigningKey, createdAtMs: number): SigningKeyRow {
  return { kid: key.kid, jwk: JSON.stringify(key), createdAtMs }
}

type Made = Pick<SigningKeyRow, 'createdAtMs'>

function signs(nowMs: number) {
  return ({ createdAtMs }: Made) => nowMs - createdAtMs < signsForMs
}

function isKept(nowMs: number) {
  return ({ createdAtMs }: Made) => nowMs - createdAtMs < keptForMs
}

async function newKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: signingAlgorithm, use: 'sig' }
}

function parsed({ jwk }: { jwk: string }): SigningKey {
  return JSON.parse(jwk) as SigningKey
}
