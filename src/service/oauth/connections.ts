import { maxIssuers } from '../../../tools/trusted-issuers.ts'
import { fail } from '../../core/errors.ts'
import { type OAuthScope, oauthScopes } from '../../core/permissions.ts'
import { actOfUser } from '../request/activity.ts'
import { type Dependencies, runChange, runSettled, unchanged } from '../request/settled-transaction.ts'
import { claimRules } from '../rules/trusted-issuers.ts'
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
import type { TrustedIssuerRow } from '../store/schema/trusted-issuers.ts'
import type { UserRow } from '../store/schema/users.ts'
import { changeIssuer, findIssuer, liveIssuers, revokeIssuer } from '../store/trusted-issuers.ts'
import { type AgentSpending, spendingOf } from './agent-spending.ts'

/**
 * An application that a user connected, an application that a party registered, or an identity provider that a party
 * trusts.
 */
export interface Connection {
  grantId: string
  clientId: string
  clientName: string
  /** Whether the connection is an application that the party registered, which signs in without a person. */
  signsInItself: boolean
  /** The URL of the trusted identity provider; null if the connection is an application. */
  identityProvider: string | null
  /** The names of the agents that the connection acts as, separated by commas; null if it acts as the user. */
  agentName: string | null
  /** The agent's spending limits; null for an identity provider, or if the connection acts as the user. */
  spending: AgentSpending | null
  permissions: readonly { scope: OAuthScope; words: string }[]
  createdAtMs: number
  lastUsedAtMs: number | null
}

export interface Connections {
  /**
   * Lists the applications that the user connected. If the user manages the party, also lists the applications that the
   * party registered and the identity providers that it trusts.
   */
  list(user: UserRow): Promise<Connection[]>
  /**
   * Ends a connection. Ending an application's connection again changes nothing.
   * @throws 404 `not_found` if the connection does not exist, or the user may not end it.
   */
  revoke(user: UserRow, grantId: string): Promise<void>
  /**
   * Reduces a connection's permissions to those in `scopes`. Scopes that the connection lacks are not added.
   * @throws 404 `not_found` in the same cases as `revoke`.
   */
  narrow(user: UserRow, grantId: string, scopes: readonly string[]): Promise<void>
}

export function createConnections(dependencies: Dependencies): Connections {
  return {
    list: (user) =>
      runSettled(dependencies, async ({ tx, realNowMs }) => {
        const ownGrants = await liveGrants(tx, user.id, realNowMs)
        const manages = managesParty(user)
        const applications = manages ? await liveApplications(tx, user.partyId, realNowMs) : []
        const issuers = manages ? await liveIssuers(tx, user.partyId, maxIssuers) : []
        return Promise.all([
          ...[...ownGrants, ...applications].map((grant) => viewOf(tx, grant)),
          ...issuers.map((issuer) => issuerView(tx, issuer, realNowMs)),
        ])
      }),
    revoke: (user, grantId) =>
      runChange(dependencies, async ({ tx, nowMs }) => {
        const issuer = await ownIssuer(tx, user, grantId)
        if (issuer !== undefined) {
          await revokeIssuer(tx, issuer, nowMs)
          return {
            result: undefined,
            acts: [actOfUser(user, { operation: 'end_connection', resourceIds: [issuer.id] })],
          }
        }
        const { id } = await ownGrant(tx, user, grantId)
        const ended = await endGrant(tx, id, nowMs)
        const act = actOfUser(user, { operation: 'end_connection', resourceIds: [id] })
        return { result: undefined, acts: ended === undefined ? [] : [act] }
      }),
    narrow: (user, grantId, remaining) =>
      runChange(dependencies, async ({ tx, nowMs, realNowMs }) => {
        const issuer = await ownIssuer(tx, user, grantId)
        const grant = issuer ?? (await ownGrant(tx, user, grantId))
        const scopes = grant.scopes.split(' ').filter((scope) => remaining.includes(scope))
        const narrowed = scopes.join(' ')
        const isLive = 'agentId' in grant ? grantIsLive(grant, realNowMs) : true
        if (!isLive || narrowed === grant.scopes) return unchanged(undefined)
        if (issuer === undefined) await updateGrant(tx, grant.id, { scopes: narrowed })
        else await changeIssuer(tx, issuer, { scopes: narrowed }, nowMs)
        const act = actOfUser(user, { operation: 'narrow_connection', resourceIds: [grant.id] })
        return { result: undefined, acts: [act] }
      }),
  }
}

/**
 * Revokes a grant, which ends every token issued under the grant. Returns the grant; undefined if it does not exist or
 * was already revoked.
 */
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

/**
 * Returns an identity provider (an issuer of assertions) that the user's party trusts; undefined if there is none with
 * this id, or the user does not manage the party. Locks the party, so that no assertion of the issuer is accepted until
 * this transaction ends.
 */
async function ownIssuer(tx: Transaction, user: UserRow, id: string): Promise<TrustedIssuerRow | undefined> {
  if (!managesParty(user) || !id.startsWith('tis_')) return undefined
  await tx.lockParty(user.partyId)
  const issuer = await findIssuer(tx, { partyId: user.partyId, id })
  return issuer?.revokedAtMs === null ? issuer : undefined
}

/** Returns whether the user may register, limit and end applications of the party. Every role except MEMBER may. */
export function managesParty({ role }: Pick<UserRow, 'role'>): boolean {
  return role !== 'MEMBER'
}

async function viewOf(tx: Transaction, grant: OAuthGrantRow): Promise<Connection> {
  const { id, clientId, clientName, agentId, partyId, createdAtMs, lastUsedAtMs } = grant
  const agent = agentId === null ? undefined : await findAgent(tx, partyId, agentId)
  return {
    grantId: id,
    clientId,
    clientName,
    signsInItself: isApplication(grant),
    identityProvider: null,
    agentName: agent?.name ?? null,
    spending: agent === undefined ? null : await spendingOf(tx, agent),
    permissions: permissionsOf(grant),
    createdAtMs,
    lastUsedAtMs,
  }
}

async function issuerView(tx: Transaction, issuer: TrustedIssuerRow, realNowMs: number): Promise<Connection> {
  const { id, partyId, clientId, name, issuer: identityProvider, createdAtMs } = issuer
  const ids = [...new Set(claimRules(issuer.agents).map(({ agentId }) => agentId))]
  const agents = await Promise.all(ids.map((agentId) => findAgent(tx, partyId, agentId)))
  const used = (await liveGrants(tx, id, realNowMs)).map(({ lastUsedAtMs }) => lastUsedAtMs ?? 0)
  return {
    grantId: id,
    clientId,
    clientName: name,
    signsInItself: false,
    identityProvider,
    agentName: agents.map((agent) => agent?.name ?? agent?.id).join(', '),
    spending: null,
    permissions: permissionsOf(issuer),
    createdAtMs,
    lastUsedAtMs: Math.max(0, ...used) || null,
  }
}

function permissionsOf({ scopes }: { scopes: string }): Connection['permissions'] {
  const names = scopes.split(' ').filter(Boolean) as OAuthScope[]
  return names.map((scope) => ({ scope, words: oauthScopes[scope].words }))
}
