import { bearerOf } from '../../core/bearer.ts'
import { fail } from '../../core/errors.ts'
import { type Environment, environmentSegments } from '../../core/operation.ts'
import { equalSecrets, sha256 } from '../../core/system.ts'
import { findExchangedKey, findGrantToken } from '../store/access-tokens.ts'
import type { Times } from '../store/clock.ts'
import { type CredentialLookup, type CredentialWithAgent, findCredential } from '../store/credentials.ts'
import type { Transaction } from '../store/engine/store.ts'
import { findGrant, grantIsLive } from '../store/oauth-grants.ts'
import type { CredentialRow } from '../store/schema/credentials.ts'
import { looksSigned, matchesGrant } from '../tokens/access-tokens.ts'
import { credentialPrefix } from '../tokens/secrets.ts'
import type { AccessTokenClaims } from '../tokens/signed-tokens.ts'
import type { Actor } from './permission-checks.ts'

/** The settings and facts that a credential is checked against. */
export interface Authority {
  environment: Environment
  local: LocalCredentials
  /**
   * The current times. Keys expire by the service's time (`nowMs`), and tokens expire by the real time (`realNowMs`).
   */
  times: Promise<Pick<Times, 'nowMs' | 'realNowMs'>>
  /** The credential's claims if it is a signed token that is valid now. */
  claims: AccessTokenClaims | undefined
  /** The rows that were read in advance, including the key that `keyLookup` identifies. */
  ahead?: Promise<{ credential: CredentialWithAgent | undefined }> | undefined
}

/**
 * Returns the hash or id with which to look up the key in an Authorization header; undefined if the header contains no
 * key.
 */
export function keyLookup(
  authorization: string | null,
  { environment, local }: Pick<Authority, 'environment' | 'local'>,
) {
  const credential = authorization === null ? undefined : bearerOf(authorization)
  if (credential === undefined || looksSigned(credential)) return undefined
  if (credential.startsWith(credentialPrefix('exchanged_token', environment))) return undefined
  return keyBy(sha256(credential), local)
}

function keyBy(secretHash: string, local: LocalCredentials): CredentialLookup {
  const id = local.get(secretHash)
  return id === undefined ? { secretHash } : { id }
}

/** The ids of the keys whose credentials only this process knows, by the hash of the credential. */
export type LocalCredentials = ReadonlyMap<string, string>

/**
 * Returns the actor that a request's credential identifies.
 * @throws 401 `unauthenticated` if the credential is missing, unknown, revoked, expired or for another environment.
 */
export async function authenticate(
  tx: Transaction,
  authorization: string | null,
  authority: Authority,
): Promise<Actor> {
  if (authorization === null) fail('unauthenticated')
  const credential = bearerOf(authorization)
  if (credential === undefined) {
    fail('unauthenticated', {
      detail: 'The Authorization header must be: Bearer <API key, agent key or access token>.',
    })
  }
  refuseOtherEnvironment(credential, authority.environment)
  if (looksSigned(credential)) return actorOfToken(tx, authority)
  const exchanged = credential.startsWith(credentialPrefix('exchanged_token', authority.environment))
  const hash = sha256(credential)
  const row = await (exchanged ? findByToken : findByKey)(tx, hash, authority)
  if (row === undefined) {
    const actor = exchanged ? await actorOfGrantToken(tx, hash, authority) : undefined
    return actor ?? fail('unauthenticated', { detail: 'The credential is unknown. Check that it is complete.' })
  }
  if (!row.valid) throwEnded()
  return {
    actorType: row.kind === 'user_token' ? 'user' : row.kind === 'api_key' ? 'party' : 'agent',
    partyId: row.partyId,
    agentId: row.agentId,
    userId: row.userId,
    credentialKind: exchanged ? 'exchanged_token' : row.kind === 'user_token' ? 'oauth_access_token' : row.kind,
    keyId: row.id,
    scopes: row.scopes === null ? [] : (JSON.parse(row.scopes) as string[]),
    grant: null,
  }
}

function throwEnded(): never {
  fail('unauthenticated', { detail: 'The credential was revoked or has expired. Ask its owner for a new one.' })
}

async function actorOfToken(tx: Transaction, authority: Authority): Promise<Actor> {
  const { claims } = authority
  if (claims === undefined) {
    fail('unauthenticated', {
      detail: 'The access token is not valid for this service, or has expired. Sign in again.',
    })
  }
  const actor = await actorOfGrant(tx, claims.grantId, claims.scopes, authority)
  return actor.grant !== null && matchesGrant(claims, actor.grant) ? actor : throwEnded()
}

/**
 * Returns the actor of a token that was issued in exchange for a grant's token; undefined if there is no such token.
 */
async function actorOfGrantToken(tx: Transaction, hash: string, authority: Authority): Promise<Actor | undefined> {
  const token = await findGrantToken(tx, hash)
  if (token === undefined || !equalSecrets(token.secretHash, hash)) return undefined
  const { realNowMs } = await authority.times
  if (realNowMs >= token.expiresAtMs) throwEnded()
  return actorOfGrant(tx, token.grantId, token.scopes.split(' '), authority)
}

/**
 * Returns the actor of a grant. Of the given scopes, the actor gets only the ones that the grant still has. So the
 * removal of a scope from a grant takes effect immediately.
 */
async function actorOfGrant(
  tx: Transaction,
  grantId: string,
  scopes: readonly string[],
  { times }: Pick<Authority, 'times'>,
): Promise<Actor> {
  const row = await findGrant(tx, grantId)
  const { realNowMs } = await times
  if (row === undefined || !grantIsLive(row, realNowMs)) {
    fail('unauthenticated', { detail: 'The user ended this connection. Connect again to continue.' })
  }
  const { id, userId, partyId, agentId, clientId } = row
  const allowed = row.scopes.split(' ').filter((scope) => scopes.includes(scope))
  return {
    actorType: agentId === null ? 'user' : 'agent',
    partyId,
    agentId,
    userId: agentId === null ? userId : null,
    // A token that was issued in exchange for the application's access token counts as an access token.
    credentialKind: 'oauth_access_token',
    keyId: id,
    scopes: [],
    grant: { id, userId, clientId, scopes: allowed },
  }
}

type Found = (CredentialRow & { valid: boolean }) | undefined

/**
 * Returns whether a key is valid: it is not revoked, it has not expired, and its agent, if any, is not deleted.
 */
export function keyIsValid(row: CredentialRow & { agentStatus: string | null }, nowMs: number): boolean {
  return (
    row.revokedAtMs === null && (row.expiresAtMs === null || nowMs < row.expiresAtMs) && row.agentStatus !== 'REVOKED'
  )
}

async function findByKey(tx: Transaction, secretHash: string, { local, times, ahead }: Authority): Promise<Found> {
  const by = keyBy(secretHash, local)
  const row = ahead === undefined ? await findCredential(tx, by) : (await ahead).credential
  if (row === undefined || ('secretHash' in by && !equalSecrets(row.secretHash, secretHash))) return undefined
  const { nowMs } = await times
  return { ...row, valid: keyIsValid(row, nowMs) }
}

/**
 * Finds the key that was exchanged for a token. The token stays valid if the key is revoked, but not if the key's agent
 * is deleted (docs/service.md#short-lived-tokens).
 */
async function findByToken(tx: Transaction, tokenHash: string, { times }: Authority): Promise<Found> {
  const row = await findExchangedKey(tx, tokenHash)
  if (row === undefined || !equalSecrets(row.tokenHash, tokenHash)) return undefined
  const { realNowMs } = await times
  return { ...row, valid: realNowMs < row.tokenExpiresAtMs && row.agentStatus !== 'REVOKED' }
}

function refuseOtherEnvironment(credential: string, environment: Environment): void {
  const segment = /^[a-z]{2}_ntl_([a-z]+)_/.exec(credential)?.[1]
  if (segment === undefined || segment === environmentSegments[environment]) return
  fail('unauthenticated', {
    detail: `The credential is for another environment. The environment of this service is ${environment}.`,
  })
}
