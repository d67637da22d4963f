import { fail } from '../../core/errors.ts'
import { type OAuthScope, oauthScopes } from '../../core/permissions.ts'
import type { System } from '../../core/system.ts'
import { recordUsersAct } from '../request/activity.ts'
import { settledNow } from '../request/due.ts'
import { findAgent } from '../store/agents.ts'
import { readTimes, realNow } from '../store/clock.ts'
import type { Store, Transaction } from '../store/engine/store.ts'
import {
  findGrant,
  type GrantWithAgent,
  grantIsLive,
  liveGrants,
  revokeGrant,
  updateGrant,
} from '../store/oauth-grants.ts'
import { deleteRecordsOfGrant } from '../store/oauth-records.ts'
import type { OAuthGrantRow } from '../store/schema/oauth-schema.ts'
import type { UserRow } from '../store/schema/tables.ts'
import { type AgentSpending, spendingOf } from './agent-spending.ts'

/** An application that a user connected. */
export interface Connection {
  grantId: string
  clientId: string
  clientName: string
  /** Null: it acts as the user. */
  agentName: string | null
  /** Null: it acts as the user. */
  spending: AgentSpending | null
  permissions: readonly { scope: OAuthScope; words: string }[]
  createdAtMs: number
  lastUsedAtMs: number | null
}

export interface Connections {
  /** The newest first. */
  list(user: UserRow): Promise<Connection[]>
  /** Ends a connection; one that has ended stays so. @throws 404 `not_found` for another user's, or none. */
  revoke(user: UserRow, grantId: string): Promise<void>
  /** Leaves a connection only those of its permissions that are named. @throws 404 `not_found` as above. */
  narrow(user: UserRow, grantId: string, scopes: readonly string[]): Promise<void>
}

export function createConnections(store: Store, system: System): Connections {
  return {
    list: (user) =>
      store.transaction(async (tx) => {
        const grants = await liveGrants(tx, user.id, await realNow(tx))
        return Promise.all(grants.map((grant) => viewOf(tx, grant)))
      }),
    revoke: (user, grantId) =>
      store.transaction(async (tx) => {
        const nowMs = await settledNow(tx, system)
        const grant = await ownGrant(tx, user, grantId)
        await deleteRecordsOfGrant(tx, grant.id)
        await revokeGrant(tx, grant.id, nowMs)
        const act = { operation: 'end_connection', resourceIds: [grant.id] }
        await recordUsersAct({ tx, system, nowMs }, user, act)
      }),
    narrow: (user, grantId, kept) =>
      store.transaction(async (tx) => {
        const grant = await ownGrant(tx, user, grantId)
        if (!grantIsLive(grant, await realNow(tx))) return
        const scopes = grant.scopes.split(' ').filter((scope) => kept.includes(scope))
        await updateGrant(tx, grant.id, { scopes: scopes.join(' ') })
        const { nowMs } = await readTimes(tx)
        const act = { operation: 'narrow_connection', resourceIds: [grant.id] }
        await recordUsersAct({ tx, system, nowMs }, user, act)
      }),
  }
}

async function ownGrant(tx: Transaction, user: UserRow, grantId: string): Promise<GrantWithAgent> {
  const grant = await findGrant(tx, grantId)
  return grant?.userId === user.id ? grant : fail('not_found', { detail: 'There is no such connection.' })
}

async function viewOf(tx: Transaction, grant: OAuthGrantRow): Promise<Connection> {
  const { id, clientId, clientName, agentId, partyId, createdAtMs, lastUsedAtMs } = grant
  const agent = agentId === null ? undefined : await findAgent(tx, partyId, agentId)
  const scopes = grant.scopes.split(' ').filter(Boolean) as OAuthScope[]
  return {
    grantId: id,
    clientId,
    clientName,
    agentName: agent?.name ?? null,
    spending: agent === undefined ? null : await spendingOf(tx, agent),
    permissions: scopes.map((scope) => ({ scope, words: oauthScopes[scope].words })),
    createdAtMs,
    lastUsedAtMs,
  }
}
