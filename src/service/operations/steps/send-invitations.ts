import { fail, failAttribute, show } from '../../../core/errors.ts'
import { newId, parseTimestamp } from '../../../core/system.ts'
import { grantedScopes, requireCanGrant } from '../../request/grantable-scopes.ts'
import type { Context } from '../../request/handler.ts'
import {
  invitationExpiry,
  maxInvitationDays,
  normalRecipient,
  pendingInvitation,
  type Recipient,
} from '../../rules/customer-invitations.ts'
import { findAgent } from '../../store/agents.ts'
import { type InvitationRecord, insertInvitation } from '../../store/customer-invitations.ts'
import { findDelegation } from '../../store/delegations.ts'
import { findParty, partyOfRecipient } from '../../store/parties.ts'
import { keepMessage } from '../../store/sandbox-messages.ts'
import type { AgentRow } from '../../store/schema/agents.ts'
import type { PartyRow } from '../../store/schema/parties.ts'
import { hashOfToken, invitationToken } from './answer-invitations.ts'
import { addressOf } from './mail-people.ts'

/** The maximum number of invitations that one request may create. It limits the work that a request causes. */
const maxInvitations = 100

/** An agent, and the permissions and limits to request for it. */
export interface AgentRequest {
  agent: AgentRow
  permissions: readonly string[]
  limits?: object | null | undefined
}

interface Terms {
  message?: string | undefined
  tags?: Record<string, string> | undefined
  disableNotifications?: boolean | undefined
  expiresAtMs: number
}

/** A recipient, and the address to which a message about the invitation is sent; undefined if none is sent. */
interface Invited {
  recipient: Recipient
  to: string | undefined
}

/**
 * Requires that the caller has all permissions that it asks customers to grant to its agents. Without this check, an
 * agent could get permissions that the caller lacks.
 * @throws 403 `forbidden` if the caller lacks one of the permissions.
 */
export function requireMayAskFor({ actor }: Context, requests: readonly Pick<AgentRequest, 'permissions'>[]): void {
  for (const { permissions } of requests) requireCanGrant(actor, grantedScopes.holdings(permissions))
}

/**
 * Creates an invitation for each pair of a recipient and an agent, except if the recipient cannot be invited or has
 * already connected the agent.
 * @throws 403 if the caller lacks a requested permission, 422 if there would be too many invitations.
 */
export async function inviteAll(
  context: Context,
  recipients: readonly Recipient[],
  requests: readonly AgentRequest[],
  terms: Terms,
) {
  requireMayAskFor(context, requests)
  if (recipients.length * requests.length > maxInvitations) {
    failAttribute(
      'recipients',
      `One request can create at most ${maxInvitations} invitations, one for each recipient and agent. This request has ${recipients.length * requests.length}.`,
    )
  }
  const failedRecipients: { recipient: Recipient; reason: string }[] = []
  const alreadyConnected: { recipient: Recipient; agentId: string; agentDelegationId: string }[] = []
  const invitations: InvitationRecord[] = []
  for (const recipient of recipients) {
    const party = await partyOfRecipient(context.tx, recipient)
    const reason = unreachableReason(recipient, party, context.actor.partyId)
    if (reason !== null) {
      failedRecipients.push({ recipient, reason })
      continue
    }
    const to = terms.disableNotifications === true ? undefined : addressOf(recipient, party)
    for (const one of requests) {
      const grant = party === undefined ? undefined : await findDelegation(context.tx, one.agent.id, party.id)
      if (grant?.status === 'ACTIVE') {
        alreadyConnected.push({ recipient, agentId: one.agent.id, agentDelegationId: grant.id })
      } else {
        invitations.push(await invite(context, { recipient, to }, one, terms))
      }
    }
  }
  return { invitations, failedRecipients, alreadyConnected }
}

/** Returns the time when the invitations expire. @throws 422 if the requested time is too early or too late. */
export function expiry(requestedExpiry: string | undefined, nowMs: number, defaultDays: number): number {
  const requestedMs = requestedExpiry === undefined ? undefined : parseTimestamp(requestedExpiry)
  const expiresAtMs = invitationExpiry(requestedMs, nowMs, defaultDays)
  if (expiresAtMs !== undefined) return expiresAtMs
  return failAttribute(
    'expiresAt',
    `expiresAt must be in the next ${maxInvitationDays} days, got ${show(requestedExpiry)}.`,
  )
}

/**
 * Loads the agents that customers are invited to connect. An agent can invite customers only for itself.
 * @throws 403 if the caller is an agent and lists a different agent, 404 for an unknown agent, 409 for an inactive one,
 * 422 for a duplicate.
 */
export async function loadAgents(
  { tx, actor }: Context,
  ids: readonly string[],
  pathOf: (index: number) => string,
): Promise<AgentRow[]> {
  const agents: AgentRow[] = []
  for (const [index, id] of ids.entries()) {
    const source = { pointer: `/data/attributes/${pathOf(index)}` }
    if (actor.agentId !== null && id !== actor.agentId) {
      fail('forbidden', { detail: 'An agent can invite customers only for itself.', source })
    }
    if (ids.indexOf(id) < index) failAttribute(pathOf(index), `${id} appears twice. List each agent once.`)
    const agent = await findAgent(tx, actor.partyId, id)
    if (agent === undefined) fail('not_found', { detail: `There is no agent ${id}.`, source })
    if (agent.status !== 'ACTIVE') fail('conflict', { detail: `The agent ${id} is ${agent.status}.`, source })
    agents.push(agent)
  }
  return agents
}

async function invite(
  context: Context,
  { recipient, to }: Invited,
  { agent, permissions, limits }: AgentRequest,
  { message, tags, expiresAtMs }: Terms,
): Promise<InvitationRecord> {
  const { tx, actor, system, nowMs, causeAgentId, instanceId } = context
  const developer = await findParty(tx, actor.partyId)
  if (developer === undefined) throw new Error(`Bug: the party ${actor.partyId} is gone.`)
  const id = newId('adi', system, nowMs)
  const row = {
    id,
    partyId: actor.partyId,
    agentId: agent.id,
    recipientType: recipient.type,
    recipient: recipient.value,
    permissions: JSON.stringify([...new Set(permissions)]),
    limits: limits === undefined || limits === null ? null : JSON.stringify(limits),
    ...pendingInvitation(expiresAtMs, nowMs),
    message: message ?? null,
    tags: JSON.stringify(tags ?? {}),
    tokenHash: hashOfToken(await invitationToken(tx, id)),
    customerPartyId: null,
    createdByAgentId: causeAgentId,
    createdInstanceId: instanceId,
    canceledByAgentId: null,
    canceledInstanceId: null,
    version: 1,
    expiresAtMs,
    createdAtMs: nowMs,
  }
  await insertInvitation(tx, row)
  if (to !== undefined) {
    const about = { partyId: actor.partyId, id, agentId: causeAgentId }
    const facts = { from: developer.displayName, agent: agent.name }
    await keepMessage(context, { kind: 'customer_invitation', to, about, ...facts })
  }
  const agentFields = { agentName: agent.name, agentHandle: agent.handle, agentStatus: agent.status }
  return { ...row, developerName: developer.displayName, ...agentFields }
}

/** Returns the normalized recipients without duplicates. @throws 422 for the first invalid value. */
export function uniqueRecipients(sent: readonly Recipient[]): Recipient[] {
  const recipients = new Map<string, Recipient>()
  for (const [index, { type, value }] of sent.entries()) {
    const recipient = normalRecipient({ type, value })
    if ('mustBe' in recipient) {
      failAttribute(`recipients/${index}/value`, `The value must be ${recipient.mustBe}, got ${show(value)}.`)
    }
    recipients.set(`${type} ${recipient.value}`, recipient)
  }
  return [...recipients.values()]
}

/** Returns the reason why a recipient cannot be invited; null if the recipient can be invited. */
function unreachableReason(recipient: Recipient, party: PartyRow | undefined, ownPartyId: string): string | null {
  if (party?.id === ownPartyId) return 'The recipient is your own account.'
  if (recipient.type === 'party_id' && party === undefined) return 'There is no party with this id.'
  return null
}
