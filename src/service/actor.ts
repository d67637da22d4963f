import { fail } from '../errors.ts'
import { type Environment, environmentSegments, type OperationDefinition } from '../operation.ts'
import { permissions } from '../permissions.ts'
import { equalSecrets, sha256 } from '../system.ts'
import { findCredential, findDelegation } from './store/parties.ts'
import type { Transaction } from './store/store.ts'
import { agentHolds } from './store/wallets.ts'

/** Whom a credential acts as (spec: Authentication). */
export interface Actor {
  actorType: 'party' | 'agent'
  partyId: string
  agentId: string | null
  credentialKind: 'api_key' | 'agent_key'
  keyId: string
  /** An API key's scopes; an agent key takes none. */
  scopes: readonly string[]
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
  { environment, local, nowMs }: { environment: Environment; local: LocalCredentials; nowMs: number },
): Promise<Actor> {
  if (authorization === null) fail('unauthenticated')
  const credential = /^bearer +([\w.~+/=-]{1,512})$/i.exec(authorization)?.[1]
  if (credential === undefined) {
    fail('unauthenticated', {
      detail: 'The Authorization header must be: Bearer <API key, agent key or access token>.',
    })
  }
  refuseOtherEnvironment(credential, environment)
  const secretHash = sha256(credential)
  const keyId = local.get(secretHash)
  const row = await findCredential(tx, keyId === undefined ? { secretHash } : { id: keyId })
  if (row === undefined || (keyId === undefined && !equalSecrets(row.secretHash, secretHash))) {
    fail('unauthenticated', { detail: 'The credential is not known. Check that it is complete.' })
  }
  if (
    row.revokedAtMs !== null ||
    (row.expiresAtMs !== null && nowMs >= row.expiresAtMs) ||
    row.agentStatus === 'REVOKED'
  ) {
    fail('unauthenticated', { detail: 'The credential was revoked or has expired. Ask its owner for a new one.' })
  }
  return {
    actorType: row.agentId === null ? 'party' : 'agent',
    partyId: row.partyId,
    agentId: row.agentId,
    credentialKind: row.kind,
    keyId: row.id,
    scopes: row.scopes === null ? [] : (JSON.parse(row.scopes) as string[]),
  }
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
  if (rule.apiKeyScope !== 'any' && !actor.scopes.includes(rule.apiKeyScope)) {
    fail('forbidden', { detail: `The API key lacks the scope ${rule.apiKeyScope}, which ${operation.name} needs.` })
  }
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
  const segment = /^[sa]k_ntl_([a-z]+)_/.exec(credential)?.[1]
  if (segment === undefined || segment === environmentSegments[environment]) return
  fail('unauthenticated', {
    detail: `The credential is for another environment than this one, which is ${environment}.`,
  })
}
