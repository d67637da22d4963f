import type { ErrorCode } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { newId, sha256 } from '../../core/system.ts'
import {
  activityAfter,
  activityHead,
  type ChainEnd,
  chainEnd,
  headIsSealed,
  insertActivity,
  sealActivityHead,
} from '../store/activity.ts'
import type { Transaction } from '../store/engine/store.ts'
import { putIdempotencyRecord } from '../store/idempotency-records.ts'
import type { ActivityRow } from '../store/schema/activity.ts'
import type { IdempotencyRecordRow } from '../store/schema/idempotency-records.ts'
import type { OAuthGrantRow } from '../store/schema/oauth-grants.ts'
import type { UserRow } from '../store/schema/users.ts'
import type { ChangeContext } from './due-effects.ts'
import type { Context } from './handler.ts'
import { isSuccess, type Reply, replyValue } from './reply.ts'
import type { Values } from './request-parsing.ts'

/** The value of `previousHash` in the first row of a party's chain of activity rows. */
const noHash = '0'.repeat(64)
/** The maximum number of ids recorded for a request. */
const maxIds = 100

/** A record of an action and of its actor, whether or not the action was refused. Contains ids, but no secrets. */
export interface Act extends Pick<ActivityRow, 'partyId' | 'operation' | 'actorType' | 'keyId' | 'status'> {
  agentId?: string | null
  userId?: string | null
  instanceId?: string | null
  customerPartyId?: string | null
  resourceIds: readonly string[]
  code?: string | null
}

/** Data that only some callers of `recordAct` have. */
interface RecordedWith {
  /** The end of the party's chain, if the caller has read it under a lock that excludes other writers. */
  end?: ChainEnd | undefined
  /** The request's idempotency record, which is stored together with the act. */
  record?: IdempotencyRecordRow | undefined
}

/**
 * Adds an act to the party's chain of activity rows, in the transaction that carries out the act. Each transaction
 * locks chains last. So a transaction that holds a chain's lock can wait only for the locks of other chains.
 */
export async function recordAct(
  { tx, system, nowMs }: ChangeContext,
  act: Act,
  { end: knownEnd, record }: RecordedWith = {},
): Promise<void> {
  const { partyId, operation, actorType, keyId, status } = act
  if (knownEnd === undefined) await tx.lock(`activity ${partyId}`)
  const end = knownEnd ?? (await chainEnd(tx, partyId))
  const row: Omit<ActivityRow, 'hash'> = {
    id: newId('act', system, nowMs),
    partyId,
    sequence: end.sequence + 1,
    operation,
    actorType,
    agentId: act.agentId ?? null,
    userId: act.userId ?? null,
    keyId,
    instanceId: act.instanceId ?? null,
    customerPartyId: act.customerPartyId ?? null,
    resourceIds: JSON.stringify(act.resourceIds),
    status,
    code: act.code ?? null,
    createdAtMs: nowMs,
    previousHash: end.hash ?? noHash,
  }
  const hash = hashOf(row)
  await insertActivity(tx, { ...row, hash }, record)
  sealActivityHead(tx, end.keys, { partyId, sequence: row.sequence, hash })
}

/**
 * Records the request in the party's activity, whether or not the request was refused. A read gets no activity row;
 * only its idempotency record is stored, if there is one.
 */
export async function recordActivity(
  context: Context,
  values: Values,
  reply: Reply,
  recorded: RecordedWith = {},
): Promise<void> {
  const { operation, actor, partyId, causeAgentId, instanceId } = context
  if (operation.effect === 'read') {
    if (recorded.record !== undefined) await putIdempotencyRecord(context.tx, recorded.record)
    return
  }
  const act = {
    partyId: actor.partyId,
    operation: operation.name,
    actorType: actor.actorType,
    agentId: causeAgentId,
    userId: actor.userId,
    keyId: actor.keyId,
    instanceId,
    customerPartyId: partyId === actor.partyId ? null : partyId,
    resourceIds: resourceIds(operation, values, isSuccess(reply) ? replyValue(reply) : undefined),
    status: reply.status,
    code: codeOf(reply),
  }
  await recordAct(context, act, recorded)
}

/** Returns the act of a signed-in user on a page. `keyId` is the user's id, because a page uses no API credential. */
export function actOfUser(
  { id, partyId }: Pick<UserRow, 'id' | 'partyId'>,
  act: Pick<Act, 'operation'> & Partial<Act>,
): Act {
  return { partyId, actorType: 'user', userId: id, keyId: id, resourceIds: [id], status: 200, ...act }
}

/**
 * Returns the act of a visitor who opened a page by its link. `keyId` is the id of the record that the link leads to,
 * because the visitor has no credential.
 */
export function actOfVisitor(
  { id, partyId }: { id: string; partyId: string },
  act: Pick<Act, 'operation'> & Partial<Act>,
): Act {
  return { partyId, actorType: 'visitor', keyId: id, resourceIds: [id], status: 200, ...act }
}

/** Sorts acts by party, so that all transactions lock the parties' chains in the same order. */
export function inOrder(acts: readonly Act[]): Act[] {
  return acts.toSorted((a, b) => (a.partyId < b.partyId ? -1 : 1))
}

/**
 * Returns the act of a connected application. The actor is the grant's agent. If the grant has no agent, the actor is
 * the grant's user.
 */
export function actOfGrant(
  { id, partyId, agentId, userId }: Pick<OAuthGrantRow, 'id' | 'partyId' | 'agentId' | 'userId'>,
  act: Pick<Act, 'operation'> & Partial<Act>,
): Act {
  const acting =
    agentId === null ? ({ actorType: 'user', userId } as const) : ({ actorType: 'agent', agentId } as const)
  return { partyId, ...acting, keyId: id, resourceIds: [id], status: 200, ...act }
}

/** Returns the hash of a row. The hash covers all other columns, including the hash of the previous row. */
export function hashOf(row: Omit<ActivityRow, 'hash'>): string {
  return sha256(JSON.stringify(hashedColumns.map((column) => row[column])))
}

/**
 * The columns that a hash covers, in this order. Because the list is explicit, a hash does not depend on the order of
 * the keys in a row object.
 */
export const hashedColumns = [
  'id',
  'partyId',
  'sequence',
  'operation',
  'actorType',
  'agentId',
  'userId',
  'keyId',
  'instanceId',
  'customerPartyId',
  'resourceIds',
  'status',
  'code',
  'createdAtMs',
  'previousHash',
] as const satisfies (keyof ActivityRow)[]

/**
 * Checks a party's chain. Returns the sequence number of the first row that was changed, inserted or deleted, even at
 * the end of the chain; null if the chain is intact. The check cannot detect that the database was restored from an
 * older backup. To detect such a restore, compare the chain's last hash with a copy that is stored elsewhere.
 */
export async function firstTampered(tx: Transaction, partyId: string): Promise<number | null> {
  const batch = 500
  const head = await activityHead(tx, partyId)
  let before = { sequence: 0, hash: noHash }
  for (;;) {
    const rows = await activityAfter(tx, partyId, before.sequence, batch)
    for (const { hash, ...row } of rows) {
      const follows = row.sequence === before.sequence + 1 && row.previousHash === before.hash
      if (!follows || hash !== hashOf(row)) return row.sequence
      before = { sequence: row.sequence, hash }
    }
    if (rows.length < batch) break
  }
  if (head === undefined) return before.sequence === 0 ? null : before.sequence + 1
  const isWhole = head.sequence === before.sequence && head.hash === before.hash && (await headIsSealed(tx, head))
  return isWhole ? null : before.sequence + 1
}

/**
 * Returns the resource ids in the request and, if the request succeeded, in its answer. The activity records no other
 * values from either.
 */
export function resourceIds(operation: OperationDefinition, values: Values, body: unknown): string[] {
  const input = 'input' in values ? values.input : {}
  const places = [operation.params, operation.attributes].flatMap((part) => Object.keys(part?.shape ?? {}))
  const named = places.filter((name) => name.endsWith('Id')).map((name) => input[name])
  const { data } = (body ?? {}) as { data?: { id: string } | { id: string }[] | null }
  const answered = [data ?? []].flat().map(({ id }) => id)
  const ids = [...named, ...answered].filter((id) => typeof id === 'string' && /^[a-z]{3}_[\w-]{1,100}$/.test(id))
  return [...new Set(ids as string[])].slice(0, maxIds)
}

function codeOf(reply: Reply): string | null {
  if (reply.status < 400) return null
  const { errors } = replyValue(reply) as { errors: { code: ErrorCode }[] }
  return errors[0]?.code ?? null
}
