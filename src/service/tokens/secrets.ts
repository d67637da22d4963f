import { type Environment, environmentSegments } from '../../core/operation.ts'
import { newSecret, type System, sha256 } from '../../core/system.ts'
import type { CredentialRow } from '../store/schema/credentials.ts'

/**
 * The letters at the beginning of each kind of credential. The letters of keys are documented in
 * docs/service.md#credential-modes.
 */
const letters = {
  api_key: 'sk',
  agent_key: 'ak',
  user_token: 'ut',
  exchanged_token: 'xt',
  client_secret: 'cs',
} as const satisfies Record<CredentialRow['kind'] | 'exchanged_token' | 'client_secret', string>

/** Returns the prefix of every credential of a kind and environment. */
export function credentialPrefix(kind: keyof typeof letters, environment: Environment): string {
  return `${letters[kind]}_ntl_${environmentSegments[environment]}_`
}

/** Returns the whole credential for a secret. Adds the prefix if the secret lacks it. */
export function wholeCredential(kind: keyof typeof letters, environment: Environment, secret: string): string {
  const prefix = credentialPrefix(kind, environment)
  return secret.startsWith(prefix) ? secret : `${prefix}${secret}`
}

/**
 * Returns the part of a credential that is stored so that people can recognize the credential: its prefix and the first
 * characters of its secret.
 */
export function displayPrefix(credential: string): string {
  return credential.slice(0, 20)
}

/** Creates a credential. Returns it in full, with the columns to store. */
export function newCredential(kind: keyof typeof letters, environment: Environment, system: System) {
  const credential = `${credentialPrefix(kind, environment)}${newSecret(system)}`
  return { credential, stored: { secretHash: sha256(credential), displayPrefix: displayPrefix(credential) } }
}
