import { importJWK, type JWK } from 'jose'

/** A public key as JSON (RFC 7517): its type (`kty`), and the members that keys of this type have. */
export type PublicKey = { kty: string; alg?: string | undefined } & Record<string, string | undefined>

/** For each key type, the algorithms with which its keys may sign assertions (RFC 7518 section 3.1, RFC 8037). */
const algorithms: Readonly<Record<string, readonly string[]>> = {
  EC: ['ES256'],
  OKP: ['EdDSA', 'Ed25519'],
  RSA: ['PS256', 'RS256'],
}
const minRsaBits = 2048
const accepted = `It accepts EC keys on P-256 (alg ES256), Ed25519 keys (EdDSA or Ed25519), and RSA keys of at least ${minRsaBits} bits (PS256 or RS256).`

/**
 * Checks whether a public key (RFC 7517) can be used to verify assertions. Returns undefined if it can. Otherwise,
 * returns a message with the reason and the kinds of keys that are accepted.
 *
 * @example await publicKeyProblem({ kty: 'EC', crv: 'P-256', x: '!!' }) // 'is not a valid public key. It accepts …'
 */
export async function publicKeyProblem(key: PublicKey): Promise<string | undefined> {
  const possible = algorithms[key.kty] ?? []
  const [defaultAlg = ''] = possible
  if (key.alg !== undefined && !possible.includes(key.alg)) {
    return `has an alg that is not accepted for keys with kty ${key.kty}. ${accepted}`
  }
  const imported = await importJWK(key as JWK, key.alg ?? defaultAlg).catch(() => undefined)
  if (imported === undefined || imported instanceof Uint8Array) return `is not a valid public key. ${accepted}`
  const { modulusLength = minRsaBits } = imported.algorithm as { name: string; modulusLength?: number }
  return modulusLength < minRsaBits ? `has only ${modulusLength} bits. ${accepted}` : undefined
}
