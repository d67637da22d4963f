import { type Environment, environmentSegments } from '../../core/operation.ts'
import { newSecret, type System, sha256 } from '../../core/system.ts'
import type { CredentialRow } from '../store/schema/credentials.ts'

/**
 * The letters with which each kind of credential begins. docs/service.md#credential-modes documents the letters of API
 * keys and agent keys.
 */
const letters = {
  api_key: 'sk',
  agent_key: 'ak',
  user_token: 'ut',
  exchanged_token: 'xt',
  client_secret: 'cs',
} as const satisfies Record<CredentialRow['kind'] | 'exchanged_token' | 'client_secret', string>

/** Returns the prefix that all credentials of the given kind and environment share. */
export function credentialPrefix(kind: keyof typeof letters, environment: Environment): string {
  return `${letters[kind]}_ntl_${environmentSegments[environment]}_`
}

/** Returns a credential with its prefix. Adds the prefix if `secret` does not already begin with it. */
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

/** Creates a credential. Returns the whole credential, and the columns to store for it. */
export function newCredential(kind: keyof typeof letters, environment: Environment, system: System) {
  const credential = `${credentialPrefix(kind, environment)}${newSecret(system)}`
  return { credential, stored: { secretHash: sha256(credential), displayPrefix: displayPrefix(credential) } }
}
