import { fail } from '../../core/errors.ts'
import { type OAuthScope, oauthScopes } from '../../core/permissions.ts'
import { actOfUser } from '../request/activity.ts'
import { type Dependencies, runChange, runSettled, unchanged } from '../request/settled-transaction.ts'
import { findAgent } from '../store/agents.ts'
import type { Transaction } from '../store/engine/store.ts'
import {
  findGrant,
  type GrantWithAgent,
  grantIsLive,
  isApplication,
  liveApplications,
  liveGrants,
  revokeGrant,
  updateGrant,
} from '../store/oauth-grants.ts'
import { deleteRecordsOfGrant } from '../store/oauth-records.ts'
import type { OAuthGrantRow } from '../store/schema/oauth-grants.ts'
import type { UserRow } from '../store/schema/users.ts'
import { type AgentSpending, spendingOf } from './agent-spending.ts'

/** An application that a user connected. */
export interface Connection {
  grantId: string
  clientId: string
  clientName: string
  /** Whether the party registered it to sign in by itself, without a person. */
  signsInItself: boolean
  /** Null if it acts as the user. */
  agentName: string | null
  /** Null if it acts as the user. */
  spending: AgentSpending | null
  permissions: readonly { scope: OAuthScope; words: string }[]
  createdAtMs: number
  lastUsedAtMs: number | null
}

export interface Connections {
  /** Lists the user's connections and, for who manages the party, the applications that sign in by themselves. */
  list(user: UserRow): Promise<Connection[]>
  /**
   * Ends a connection; an ended one stays ended.
   * @throws 404 `not_found` if it belongs to another user or does not exist.
   */
  revoke(user: UserRow, grantId: string): Promise<void>
  /** Reduces a connection's permissions to the given ones. @throws 404 `not_found` as above. */
  narrow(user: UserRow, grantId: string, scopes: readonly string[]): Promise<void>
}

export function createConnections(dependencies: Dependencies): Connections {
  return {
    list: (user) =>
      runSettled(dependencies, async ({ tx, realNowMs }) => {
        const own = await liveGrants(tx, user.id, realNowMs)
        const applications = managesParty(user) ? await liveApplications(tx, user.partyId, realNowMs) : []
        return Promise.all([...own, ...applications].map((grant) => viewOf(tx, grant)))
      }),
    revoke: (user, grantId) =>
      runChange(dependencies, async ({ tx, nowMs }) => {
        const { id } = await ownGrant(tx, user, grantId)
        const ended = await endGrant(tx, id, nowMs)
        const act = actOfUser(user, { operation: 'end_connection', resourceIds: [id] })
        return { result: undefined, acts: ended === undefined ? [] : [act] }
      }),
    narrow: (user, grantId, kept) =>
      runChange(dependencies, async ({ tx, realNowMs }) => {
        const grant = await ownGrant(tx, user, grantId)
        const scopes = grant.scopes.split(' ').filter((scope) => kept.includes(scope))
        const narrowed = scopes.join(' ')
        if (!grantIsLive(grant, realNowMs) || narrowed === grant.scopes) return unchanged(undefined)
        await updateGrant(tx, grant.id, { scopes: narrowed })
        const act = actOfUser(user, { operation: 'narrow_connection', resourceIds: [grant.id] })
        return { result: undefined, acts: [act] }
      }),
  }
}

/** Ends a grant and everything issued from it. Returns undefined if it had already ended or never existed. */
export async function endGrant(tx: Transaction, id: string, nowMs: number): Promise<OAuthGrantRow | undefined> {
  const grant = await findGrant(tx, id)
  await deleteRecordsOfGrant(tx, id)
  await revokeGrant(tx, id, nowMs)
  return grant?.revokedAtMs === null ? grant : undefined
}

async function ownGrant(tx: Transaction, user: UserRow, grantId: string): Promise<GrantWithAgent> {
  const grant = await findGrant(tx, grantId)
  const isOwn = grant?.userId === user.id
  const isManaged = grant?.partyId === user.partyId && isApplication(grant) && managesParty(user)
  return grant !== undefined && (isOwn || isManaged)
    ? grant
    : fail('not_found', { detail: 'There is no such connection.' })
}

/** Returns whether the user may end and limit what the party registered. Members use what others set up. */
function managesParty({ role }: UserRow): boolean {
  return role !== 'MEMBER'
}

async function viewOf(tx: Transaction, grant: OAuthGrantRow): Promise<Connection> {
  const { id, clientId, clientName, agentId, partyId, createdAtMs, lastUsedAtMs } = grant
  const agent = agentId === null ? undefined : await findAgent(tx, partyId, agentId)
  const scopes = grant.scopes.split(' ').filter(Boolean) as OAuthScope[]
  return {
    grantId: id,
    clientId,
    clientName,
    signsInItself: isApplication(grant),
    agentName: agent?.name ?? null,
    spending: agent === undefined ? null : await spendingOf(tx, agent),
    permissions: scopes.map((scope) => ({ scope, words: oauthScopes[scope].words })),
    createdAtMs,
    lastUsedAtMs,
  }
}
