import { type Environment, environmentSegments } from '../../core/operation.ts'
import { newSecret, type System, sha256 } from '../../core/system.ts'
import type { CredentialRow } from '../store/schema/credentials.ts'

/** The first letters of each kind; callers know those of keys (docs/service.md#credential-modes). */
const letters = { api_key: 'sk', agent_key: 'ak', user_token: 'ut', exchanged_token: 'xt' } as const satisfies Record<
  CredentialRow['kind'] | 'exchanged_token',
  string
>

/** What every credential of a kind and environment begins with. */
export function credentialPrefix(kind: keyof typeof letters, environment: Environment): string {
  return `${letters[kind]}_ntl_${environmentSegments[environment]}_`
}

/** A credential of a secret, which may have what it begins with already. */
export function wholeCredential(kind: keyof typeof letters, environment: Environment, secret: string): string {
  const prefix = credentialPrefix(kind, environment)
  return secret.startsWith(prefix) ? secret : `${prefix}${secret}`
}

/** What is kept of a credential for people to recognize it: its prefix and the first characters of its secret. */
export function displayPrefix(credential: string): string {
  return credential.slice(0, 20)
}

/** A new credential, given back whole, and what is stored of it. */
export function newCredential(kind: keyof typeof letters, environment: Environment, system: System) {
  const credential = `${credentialPrefix(kind, environment)}${newSecret(system)}`
  return { credential, stored: { secretHash: sha256(credential), displayPrefix: displayPrefix(credential) } }
}
