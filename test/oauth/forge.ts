import { decodeJwt, exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose'
import { signingKeys } from '../../src/service/store/signing-keys.ts'
import type { World } from '../support/world.ts'

type Signing = { alg: string; key: Parameters<SignJWT['sign']>[0] }

/** A maker of forged access tokens. It knows the claims of a valid token, and the service's signing key. */
export interface Forger {
  /** The claims of a valid token. */
  claims: JWTPayload
  /** The service's signing key from the database, with its private part. */
  ownKey: JWK & { kid: string }
  /** Signs a copy of the valid token with these claims and header values replaced. `undefined` removes a value. */
  sign(claims?: object, header?: object, signing?: Signing): Promise<string>
}

export async function createForger({ store }: Pick<World, 'store'>, accessToken: string): Promise<Forger> {
  const [row] = await store.transaction(signingKeys)
  const ownKey = JSON.parse(String(row?.jwk)) as Forger['ownKey']
  const claims = decodeJwt(accessToken)
  const ownSigning = { alg: 'ES256', key: await importJWK(ownKey, 'ES256') }
  return {
    claims,
    ownKey,
    sign: async (changed = {}, header = {}, signing = ownSigning) =>
      new SignJWT(withoutUndefined({ ...claims, ...changed }))
        .setProtectedHeader({ alg: signing.alg, ...withoutUndefined({ typ: 'at+jwt', kid: ownKey.kid, ...header }) })
        .sign(signing.key),
  }
}

/** Creates a key that the service has never seen. */
export async function foreignKey(alg: 'ES256' | 'RS256'): Promise<Signing & { jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, key: privateKey, jwk: await exportJWK(publicKey) }
}

/** Builds a token without signing it. `signature` may be any string. */
export function unsigned(header: object, claims: object, signature = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part(header)}.${part(claims)}.${signature}`
}

function withoutUndefined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
