import { fail } from '../errors.ts'
import { type Environment, environmentSegments, type OperationDefinition } from '../operation.ts'
import { permissions } from '../permissions.ts'
import { equalSecrets, sha256 } from '../system.ts'
import { credentialPrefix } from './secrets.ts'
import { findExchanged } from './store/access-tokens.ts'
import { findAgent } from './store/agents.ts'
import { findCredential, findDelegation } from './store/parties.ts'
import type { Transaction } from './store/store.ts'
import type { CredentialRow } from './store/tables.ts'
import { agentHolds } from './store/wallets.ts'

/** Whom a credential acts as (spec: Authentication). */
export interface Actor {
  actorType: 'user' | 'party' | 'agent'
  partyId: string
  agentId: string | null
  userId: string | null
  credentialKind: 'api_key' | 'agent_key' | 'oauth_access_token' | 'exchanged_token'
  /** The credential's id; of an exchanged token, the id of the key that it was made from. */
  keyId: string
  /** An API key's scopes; agents and users take none. */
  scopes: readonly string[]
}

/** What a credential is held against. */
export interface Authority {
  environment: Environment
  local: LocalCredentials
  /** The service's time, by which keys end. */
  nowMs: number
  /** Real time, by which exchanged tokens end. */
  realNowMs: number
}

/** Credentials that only this process knows: the hash of each, and the id of the key that it stands for. */
export type LocalCredentials = ReadonlyMap<string, string>

/**
 * Resolves the credential of a request.
 * @throws 401 `unauthenticated` when it is missing, unknown, revoked, expired or of another environment.
 */
export async function authenticate(
  tx: Transaction,
  authorization: string | null,
  authority: Authority,
): Promise<Actor> {
  if (authorization === null) fail('unauthenticated')
  const credential = /^bearer +([\w.~+/=-]{1,512})$/i.exec(authorization)?.[1]
  if (credential === undefined) {
    fail('unauthenticated', {
      detail: 'The Authorization header must be: Bearer <API key, agent key or access token>.',
    })
  }
  refuseOtherEnvironment(credential, authority.environment)
  const exchanged = credential.startsWith(credentialPrefix('exchanged_token', authority.environment))
  const row = await (exchanged ? findByToken : findByKey)(tx, sha256(credential), authority)
  if (row === undefined) fail('unauthenticated', { detail: 'The credential is not known. Check that it is complete.' })
  if (!row.valid) {
    fail('unauthenticated', { detail: 'The credential was revoked or has expired. Ask its owner for a new one.' })
  }
  return {
    actorType: row.kind === 'user_token' ? 'user' : row.kind === 'api_key' ? 'party' : 'agent',
    partyId: row.partyId,
    agentId: row.agentId,
    userId: row.userId,
    credentialKind: exchanged ? 'exchanged_token' : row.kind === 'user_token' ? 'oauth_access_token' : row.kind,
    keyId: row.id,
    scopes: row.scopes === null ? [] : (JSON.parse(row.scopes) as string[]),
  }
}

type Found = (CredentialRow & { valid: boolean }) | undefined

/** Whether a key works: it was not revoked, its grace period is not over, and its agent, if it has one, is there. */
export function keyIsValid(row: CredentialRow & { agentStatus: string | null }, nowMs: number): boolean {
  return (
    row.revokedAtMs === null && (row.expiresAtMs === null || nowMs < row.expiresAtMs) && row.agentStatus !== 'REVOKED'
  )
}

async function findByKey(tx: Transaction, secretHash: string, { local, nowMs }: Authority): Promise<Found> {
  const keyId = local.get(secretHash)
  const row = await findCredential(tx, keyId === undefined ? { secretHash } : { id: keyId })
  if (row === undefined || (keyId === undefined && !equalSecrets(row.secretHash, secretHash))) return undefined
  return { ...row, valid: keyIsValid(row, nowMs) }
}

/** A token outlives its key (spec: Agent keys), but not its agent. */
async function findByToken(tx: Transaction, tokenHash: string, { realNowMs }: Authority): Promise<Found> {
  const row = await findExchanged(tx, tokenHash)
  if (row === undefined || !equalSecrets(row.tokenHash, tokenHash)) return undefined
  return { ...row, valid: realNowMs < row.tokenExpiresAtMs && row.agentStatus !== 'REVOKED' }
}

/** Refuses what the credential may never do, whatever it acts on. @throws 403 `forbidden`. */
export function requirePermission(actor: Actor, operation: OperationDefinition): void {
  const rule = permissions[operation.permission]
  if (actor.actorType === 'agent') {
    if (!rule.agent) fail('forbidden', { detail: `The agent policy does not allow ${operation.name}.` })
    return
  }
  if (rule.apiKeyScope === null) {
    fail('forbidden', { detail: `${operation.name} is for agents: send it with an agent key.` })
  }
  if (actor.actorType === 'user') return
  if (rule.apiKeyScope !== 'any' && !actor.scopes.includes(rule.apiKeyScope)) {
    fail('forbidden', { detail: `The API key lacks the scope ${rule.apiKeyScope}, which ${operation.name} needs.` })
  }
}

/**
 * The agent that a request is recorded as caused by. A party's key that names one of its agents in a header (spec:
 * DELETE /customers/invitations/{invitationId}) still acts as the party: the name is a note, and gives no right.
 * @throws 403 `forbidden` for what is no agent of the caller's, or another agent than the caller.
 */
export async function resolveCause(tx: Transaction, actor: Actor, named: string | null): Promise<string | null> {
  if (named === null || named === actor.agentId) return actor.agentId
  const source = { header: 'X-Agent-ID' }
  if (actor.agentId !== null) {
    fail('forbidden', { detail: 'An agent is known by its credential: omit the X-Agent-ID header.', source })
  }
  const agent = await findAgent(tx, actor.partyId, named)
  if (agent?.status !== 'ACTIVE') fail('forbidden', { detail: 'X-Agent-ID names no agent of this party.', source })
  return named
}

/**
 * The party that a request acts on: the caller's own, or the connected customer it names. Whether a party that is not
 * connected exists cannot be told from the answer.
 * @throws 403 `forbidden` without a grant of that customer's to this agent that includes the permission.
 */
export async function resolveParty(
  tx: Transaction,
  actor: Actor,
  operation: OperationDefinition,
  customerPartyId: string | undefined,
): Promise<string> {
  if (customerPartyId === undefined || customerPartyId === actor.partyId) return actor.partyId
  const source =
    operation.attributes === undefined
      ? { parameter: 'customerPartyId' }
      : { pointer: '/data/attributes/customerPartyId' }
  if (actor.agentId === null) {
    fail('forbidden', { detail: 'Only an agent that the customer granted it can act for a customer.', source })
  }
  const grant = await findDelegation(tx, actor.agentId, customerPartyId)
  if (grant?.status !== 'ACTIVE') {
    fail('forbidden', { detail: 'No customer with this id has granted anything to this agent.', source })
  }
  const needed = permissions[operation.permission].agentHolds
  if (needed !== null && !(JSON.parse(grant.permissions) as string[]).includes(needed)) {
    fail('forbidden', { detail: `The customer's grant to this agent does not include ${needed}.`, source })
  }
  return customerPartyId
}

/**
 * Refuses an agent that does not hold the operation's permission on a wallet of its own party. For a customer's wallet
 * the customer's grant says it, which `resolveParty` has checked.
 */
export async function requireHeldOnWallet(
  tx: Transaction,
  actor: Actor,
  operation: OperationDefinition,
  wallet: { id: string; partyId: string },
): Promise<void> {
  const needed = permissions[operation.permission].agentHolds
  if (needed === null || actor.agentId === null || wallet.partyId !== actor.partyId) return
  if (await agentHolds(tx, actor.agentId, wallet.id, needed)) return
  fail('forbidden', { detail: `This agent does not hold ${needed} on the wallet ${wallet.id}.` })
}

function refuseOtherEnvironment(credential: string, environment: Environment): void {
  const segment = /^[a-z]{2}_ntl_([a-z]+)_/.exec(credential)?.[1]
  if (segment === undefined || segment === environmentSegments[environment]) return
  fail('unauthenticated', {
    detail: `The credential is for another environment than this one, which is ${environment}.`,
  })
}
