import { decodeJwt, exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose'
import { signingKeys } from '../../src/service/store/signing-keys.ts'
import type { World } from '../support/world.ts'

type Signing = { alg: string; key: Parameters<SignJWT['sign']>[0] }

/** Makes tokens like an attacker who knows the service's claims and some of its keys. */
export interface Forger {
  /** The claims of a valid token. */
  claims: JWTPayload
  /** The service's own key from the database. */
  own: JWK & { kid: string }
  /** Makes a token with these claims and header values instead of the valid ones. Undefined removes a value. */
  sign(claims?: object, header?: object, signing?: Signing): Promise<string>
}

export async function createForger({ store }: Pick<World, 'store'>, accessToken: string): Promise<Forger> {
  const [row] = await store.transaction(signingKeys)
  const own = JSON.parse(String(row?.jwk)) as Forger['own']
  const claims = decodeJwt(accessToken)
  const ownSigning = { alg: 'ES256', key: await importJWK(own, 'ES256') }
  return {
    claims,
    own,
    sign: async (changed = {}, header = {}, signing = ownSigning) =>
      new SignJWT(without({ ...claims, ...changed }))
        .setProtectedHeader({ alg: signing.alg, ...without({ typ: 'at+jwt', kid: own.kid, ...header }) })
        .sign(signing.key),
  }
}

/** A key that the service has never seen. */
export async function foreignKey(alg: 'ES256' | 'RS256'): Promise<Signing & { jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, key: privateKey, jwk: await exportJWK(publicKey) }
}

/** Makes a token with this header, these claims and this signature. */
export function unsigned(header: object, claims: object, signature = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part(header)}.${part(claims)}.${signature}`
}

function without(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
