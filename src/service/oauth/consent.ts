import { fail } from '../../core/errors.ts'
import { delegable, type OAuthScope, oauthScopes } from '../../core/permissions.ts'
import { newId, sha256 } from '../../core/system.ts'
import { actOfUser } from '../request/activity.ts'
import type { ChangeContext, SettledContext } from '../request/due-effects.ts'
import { type Dependencies, runChange, runSettled, unchanged } from '../request/settled-transaction.ts'
import { findPartyStatus, requireNotStopped } from '../request/stopped-parties.ts'
import { activeAgents, createAgent } from '../store/agents.ts'
import { insertGrant, liveGrants, updateGrant } from '../store/oauth-grants.ts'
import { findRecord, saveRecord } from '../store/oauth-records.ts'
import type { UserRow } from '../store/schema/users.ts'
import { defaultWallet } from '../store/wallets.ts'
import { lifetimes } from '../tokens/lifetimes.ts'
import { type AgentSpending, newAgentSpending, spendingOf } from './agent-spending.ts'

/** An application's request for consent. */
export interface ConsentRequest {
  /** The id of the interaction, in which only one decision is possible. */
  uid: string
  client: {
    id: string
    name: string
    /** The URL of the client's own page; null if the client provided none. */
    uri: string | null
    /** The application's URL to which the browser returns after the decision; null for a device. */
    redirectUri: string | null
  }
  /** The requested scopes that this service defines, without those of OpenID Connect. */
  scopes: readonly OAuthScope[]
}

/** The facts shown to the person who decides on the request. */
export interface ConsentView {
  /** The requested permissions in words. */
  permissions: readonly { scope: OAuthScope; words: string }[]
  /** The agents to choose from, most recently used first. */
  agents: readonly {
    id: string
    name: string
    description: string | null
    lastActiveAtMs: number | null
    spending: AgentSpending
  }[]
  /** The spending limits of a new agent. */
  newAgentSpending: AgentSpending
  /** The agent that the application already acts as; null if there is none. */
  currentAgentId: string | null
  mayCreate: boolean
  /** Whether the application acts as the user, because there is no agent and the user may not create one. */
  actsAsUser: boolean
}

export type AgentChoice =
  | { kind: 'existing'; agentId: string }
  | { kind: 'new'; name: string; description: string | null }
  | { kind: 'user' }

export interface Consent {
  view(user: UserRow, request: ConsentRequest): Promise<ConsentView>
  /**
   * Stores the person's consent as a grant. A repeat, such as a double click, has no further effect.
   * @throws 422 `invalid_value` for an agent that cannot be chosen, 403 `forbidden` or 409 `conflict` if the user or
   *   the account cannot create an agent.
   */
  allow(user: UserRow, request: ConsentRequest, choice: AgentChoice): Promise<AllowedGrant>
}

export interface AllowedGrant {
  id: string
  scopes: readonly OAuthScope[]
}

/** Scopes that no agent can have (docs/service.md#agent-policy). */
const usersOnly: readonly OAuthScope[] = ['account:read']

export function createConsent(dependencies: Dependencies): Consent {
  return {
    view: (user, request) =>
      runSettled(dependencies, async ({ tx, realNowMs }) => {
        const agents = await activeAgents(tx, user.partyId)
        const [current] = await liveGrants(tx, user.id, realNowMs, request.client.id)
        const actsAsUser = agents.length === 0 && !mayCreate(user)
        return {
          permissions: grantable(request.scopes, actsAsUser).map((scope) => ({
            scope,
            words: oauthScopes[scope].words,
          })),
          agents: await Promise.all(agents.map(async (agent) => ({ ...agent, spending: await spendingOf(tx, agent) }))),
          newAgentSpending: await newAgentSpending(tx, user.partyId),
          currentAgentId: current?.agentId ?? null,
          mayCreate: mayCreate(user),
          actsAsUser,
        }
      }),
    allow: (user, request, choice) =>
      runChange(dependencies, async (context) => {
        const { tx, realNowMs } = context
        // Because of this lock, a second click finds the decision of the first.
        await tx.lock(`consent ${request.uid}`)
        const decision = { model: 'Decision', idHash: sha256(request.uid) }
        const record = await findRecord(tx, decision)
        if (record !== undefined) return unchanged(JSON.parse(record.payload) as AllowedGrant)
        const agentId = await chosenAgent(context, user, choice)
        const allowed = await storeGrant(context, user, request, agentId)
        const expiresAtMs = realNowMs + lifetimes.interaction * 1000
        const none = { grantId: allowed.id, uid: null, userCodeHash: null }
        const payload = JSON.stringify(allowed)
        await saveRecord(tx, { ...decision, ...none, payload, createdAtMs: realNowMs, expiresAtMs })
        const agent = agentId === null ? [] : [agentId]
        const connected = { operation: 'connect_application', resourceIds: [allowed.id, ...agent], agentId }
        const created = { operation: 'create_agent', resourceIds: agent }
        const acts = choice.kind === 'new' ? [created, connected] : [connected]
        return { result: allowed, acts: acts.map((act) => actOfUser(user, act)) }
      }),
  }
}

/** Returns whether the user may create agents. Users with the role MEMBER may not. */
function mayCreate({ role }: UserRow): boolean {
  return role !== 'MEMBER'
}

function grantable(scopes: readonly OAuthScope[], asUser: boolean): OAuthScope[] {
  return scopes.filter((scope) => asUser || !usersOnly.includes(scope))
}

async function chosenAgent(context: ChangeContext, user: UserRow, choice: AgentChoice): Promise<string | null> {
  const { tx } = context
  const agents = await activeAgents(tx, user.partyId)
  if (choice.kind === 'existing') {
    if (agents.some(({ id }) => id === choice.agentId)) return choice.agentId
    return fail('invalid_value', { status: 422, detail: 'This agent no longer exists. Choose another.' })
  }
  if (choice.kind === 'new') {
    if (!mayCreate(user)) fail('forbidden', { detail: 'Your role does not allow you to create agents.' })
    return newAgent(context, user, choice)
  }
  if (agents.length === 0 && !mayCreate(user)) return null
  return fail('invalid_value', { status: 422, detail: 'Choose the agent that the application acts as.' })
}

async function newAgent(
  context: ChangeContext,
  { id: createdBy, partyId }: UserRow,
  { name, description }: { name: string; description: string | null },
): Promise<string> {
  requireNotStopped(await findPartyStatus(context.tx, partyId), partyId, 'create_agent')
  const wallet = await defaultWallet(context.tx, partyId)
  if (wallet === undefined) return fail('conflict', { detail: 'The account has no default wallet for a new agent.' })
  return (await createAgent(context, { partyId, name, description, createdBy }, wallet.id, delegable)).id
}

/**
 * Stores a grant. A user has one grant for each application and agent. If the user connects the same application and
 * agent again, the existing grant is extended, so revoking this grant ends the whole connection.
 */
async function storeGrant(
  { tx, system, nowMs, realNowMs }: SettledContext,
  user: UserRow,
  { client, scopes: requested }: ConsentRequest,
  agentId: string | null,
): Promise<AllowedGrant> {
  const scopes = grantable(requested, agentId === null)
  const expiresAtMs = realNowMs + lifetimes.grant * 1000
  const live = await liveGrants(tx, user.id, realNowMs, client.id)
  const before = live.find((grant) => grant.agentId === agentId)
  if (before !== undefined) {
    const all = [...new Set([...before.scopes.split(' ').filter(Boolean), ...scopes])] as OAuthScope[]
    await updateGrant(tx, before.id, { scopes: all.join(' '), clientName: client.name, expiresAtMs })
    return { id: before.id, scopes }
  }
  const id = newId('ogr', system, nowMs)
  await insertGrant(tx, {
    id,
    userId: user.id,
    partyId: user.partyId,
    agentId,
    clientId: client.id,
    clientName: client.name,
    scopes: scopes.join(' '),
    payload: '{}',
    createdAtMs: nowMs,
    lastUsedAtMs: null,
    revokedAtMs: null,
    expiresAtMs,
  })
  return { id, scopes }
}
