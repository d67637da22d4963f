import { createPublicKey, type KeyObject } from 'node:crypto'

/** A public key as JSON (RFC 7517). */
export interface PublicKey {
  kty: 'EC' | 'OKP' | 'RSA'
  alg?: string | undefined
}

/** The signatures of the keys that may sign assertions (RFC 7518 section 3.1, RFC 8037). */
const algorithms: Readonly<Record<PublicKey['kty'], readonly string[]>> = {
  EC: ['ES256'],
  OKP: ['EdDSA', 'Ed25519'],
  RSA: ['PS256', 'RS256'],
}

const accepted =
  'It accepts EC keys on P-256 (alg ES256), Ed25519 keys (EdDSA or Ed25519), and RSA keys of 2048 bits or more (PS256 or RS256).'

/**
 * Returns why no assertion can be checked with a key, and the keys that are accepted; undefined if one can.
 *
 * @example publicKeyProblem({ kty: 'EC', crv: 'P-256', x: '!!', y: '' }) // 'is not a valid public key. It accepts …'
 */
export function publicKeyProblem(key: PublicKey): string | undefined {
  if (key.alg !== undefined && !algorithms[key.kty].includes(key.alg)) {
    return `has an alg that its kty ${key.kty} does not have here. ${accepted}`
  }
  let parsed: KeyObject
  try {
    parsed = createPublicKey({ key: { ...key }, format: 'jwk' })
  } catch {
    return `is not a valid public key. ${accepted}`
  }
  return isAccepted(parsed) ? undefined : `is of a kind or size that is not accepted. ${accepted}`
}

function isAccepted({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (type === 'ec') return details?.namedCurve === 'prime256v1'
  return type === 'rsa' ? (details?.modulusLength ?? 0) >= 2048 : type === 'ed25519'
}
