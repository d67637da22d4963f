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
  /** The id of this request, which oidc-provider calls an interaction. Only the first decision on a request counts. */
  uid: string
  client: {
    id: string
    name: string
    /** The URL of the client's own website; null if the client provided none. */
    uri: string | null
    /** The URL to which the browser returns after the decision; null if a device made the request. */
    redirectUri: string | null
  }
  /** The requested scopes that this service defines itself. OpenID Connect's scopes, such as `openid`, are left out. */
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
  /** The agent that the application already acts as for this user; null if there is none. */
  currentAgentId: string | null
  mayCreate: boolean
  /** Whether the application will act as the user: the party has no agent, and the user may not create one. */
  actsAsUser: boolean
}

export type AgentChoice =
  | { kind: 'existing'; agentId: string }
  | { kind: 'new'; name: string; description: string | null }
  | { kind: 'user' }

export interface Consent {
  view(user: UserRow, request: ConsentRequest): Promise<ConsentView>
  /**
   * Stores the person's consent as a grant. If called again for the same request, for example because of a double
   * click, returns the grant of the first call and changes nothing.
   * @throws 422 `invalid_value` if `choice` is not possible; 403 `forbidden` if the user may not create agents, or the
   * account is suspended or inactive; 409 `conflict` if the account has no default wallet.
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
        // With this lock, a second click waits for the first one, and then finds its decision.
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
 * Stores a grant. A user has at most one live grant for each pair of application and agent. If the user connects the
 * same pair again, the live grant is extended. Revoking this one grant therefore ends the whole connection.
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
