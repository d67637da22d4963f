import { fail } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { agentMustHold, allows, type Permission, permissions, refusalOf } from '../../core/permissions.ts'
import { findAgent } from '../store/agents.ts'
import { findDelegation } from '../store/delegations.ts'
import type { Transaction } from '../store/engine/store.ts'
import { agentHolds, type Holder } from '../store/wallet-permissions.ts'
import { defaultWallet } from '../store/wallets.ts'

/** The identity that a credential acts as (docs/service.md#credential-modes). */
export interface Actor {
  actorType: 'user' | 'party' | 'agent'
  partyId: string
  agentId: string | null
  /** The user that the credential acts as; null for an agent, even if a user connected it. */
  userId: string | null
  credentialKind: 'api_key' | 'agent_key' | 'oauth_access_token' | 'exchanged_token'
  /**
   * The id of the credential. For an exchanged token, it is the id of the key or grant that the token was created from.
   */
  keyId: string
  /** An API key's scopes; empty for agents and users. */
  scopes: readonly string[]
  /** The user's grant to the calling application; null for keys. */
  grant: Grant | null
}

/**
 * A user's grant to an application (docs/service.md#oauth-scopes). Its scopes here are only those of the presented
 * token.
 */
export interface Grant {
  id: string
  userId: string
  clientId: string
  scopes: readonly string[]
}

/**
 * Refuses a credential that lacks the operation's permission. Access to particular records is checked separately.
 * @throws 403 `forbidden`.
 */
export function requirePermission(actor: Actor, { name, permission }: OperationDefinition): void {
  const refusal = refusalOf(actor, permission)
  if (refusal === undefined) return
  const { oauth, apiKey } = permissions[permission]
  const details = {
    grant:
      oauth === null
        ? `Connected applications may not use ${name}. Use an API key, or sign in to the account.`
        : `The connection lacks the permission ${oauth}, which ${name} needs. Connect again and grant this permission.`,
    policy: `The agent policy does not allow ${name}.`,
    agentsOnly: `${name} is only for agents. Call it with an agent key.`,
    scope: `The API key lacks the scope ${apiKey}, which ${name} needs.`,
  }
  const scopes = refusal === 'grant' && oauth !== null ? [...(actor.grant?.scopes ?? []), oauth] : undefined
  fail('forbidden', { detail: details[refusal], ...(scopes === undefined ? {} : { scopes }) })
}

/**
 * Returns the id of the agent to record as the cause of a request. A request with a party's key may name one of the
 * party's agents in the X-Agent-ID header (docs/service.md#headers). Such a request still acts as the party.
 * @param agentId The id in the X-Agent-ID header.
 * @throws 403 `forbidden` if the id is not that of an active agent of the party, or if an agent sends a different
 * agent's id.
 */
export async function resolveCause(tx: Transaction, actor: Actor, agentId: string | null): Promise<string | null> {
  if (agentId === null || agentId === actor.agentId) return actor.agentId
  const source = { header: 'X-Agent-ID' }
  if (actor.agentId !== null) {
    fail('forbidden', { detail: 'An agent is identified by its credential: omit the X-Agent-ID header.', source })
  }
  const agent = await findAgent(tx, actor.partyId, agentId)
  if (agent?.status !== 'ACTIVE')
    fail('forbidden', { detail: 'X-Agent-ID is not the id of an active agent of this party.', source })
  return agentId
}

/**
 * Returns the party that a request acts on: the customer that the request names or, if it names none, the caller's own
 * party. If the named party is not a customer of the agent, the error does not reveal whether that party exists.
 * @throws 403 `forbidden` if the request names a customer that has not granted the permission to the calling agent.
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
    fail('forbidden', { detail: 'Only an agent with a grant from the customer can act for that customer.', source })
  }
  const grant = await findDelegation(tx, actor.agentId, customerPartyId)
  if (grant?.status !== 'ACTIVE') {
    fail('forbidden', { detail: 'No customer with this id has granted anything to this agent.', source })
  }
  const needed = agentMustHold(operation.permission)
  if (needed !== null && !(JSON.parse(grant.permissions) as string[]).includes(needed)) {
    fail('forbidden', { detail: `The customer's grant to this agent does not include ${needed}.`, source })
  }
  return customerPartyId
}

/**
 * Refuses an agent that does not hold the operation's permission on a wallet of its own party. For a customer's
 * wallet, `resolveParty` has already checked the customer's grant.
 */
export async function requireWalletPermission(
  tx: Transaction,
  actor: Actor,
  operation: OperationDefinition,
  wallet: { id: string; partyId: string },
): Promise<void> {
  const needed = neededOnWallets(actor, operation, wallet.partyId)
  if (needed !== null && !(await agentHolds(tx, needed.agentId, wallet, needed.permission)))
    refuseUnheld(needed, wallet.id)
}

/**
 * Returns the calling agent and the permission that it must hold on the party's wallets; null if the caller needs none.
 */
export function neededOnWallets(actor: Actor, operation: OperationDefinition, partyId: string): Holder | null {
  const permission = agentMustHold(operation.permission)
  return permission === null || actor.agentId === null || partyId !== actor.partyId
    ? null
    : { agentId: actor.agentId, permission }
}

/** Refuses an agent that lacks a permission on a wallet. @throws 403 `forbidden`. */
export function refuseUnheld({ permission }: Holder, walletId: string): never {
  fail('forbidden', { detail: `This agent does not have the permission ${permission} on the wallet ${walletId}.` })
}

/**
 * Refuses an agent that does not hold the operation's permission on the default wallet of its own party. This is the
 * check for records that belong to no wallet.
 */
export async function requireDefaultWalletPermission(
  tx: Transaction,
  actor: Actor,
  operation: OperationDefinition,
  partyId: string,
): Promise<void> {
  if (actor.agentId === null || partyId !== actor.partyId) return
  const wallet = await defaultWallet(tx, partyId)
  if (wallet === undefined) throw new Error(`Bug: the party ${partyId} has no default wallet.`)
  await requireWalletPermission(tx, actor, operation, wallet)
}

/** Returns whether the caller has the permission and, if it is an agent, has it on this wallet. */
export async function isAllowedOnWallet(
  tx: Transaction,
  actor: Actor,
  permission: Permission,
  wallet: { id: string; partyId: string },
): Promise<boolean> {
  if (!allows(actor, permission)) return false
  const needed = agentMustHold(permission)
  if (needed === null || actor.agentId === null) return true
  if (wallet.partyId === actor.partyId) return agentHolds(tx, actor.agentId, wallet, needed)
  const grant = await findDelegation(tx, actor.agentId, wallet.partyId)
  return grant?.status === 'ACTIVE' && (JSON.parse(grant.permissions) as string[]).includes(needed)
}
