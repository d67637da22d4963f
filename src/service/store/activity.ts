import { type SqlBool, sql } from 'kysely'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { changingOne, prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { type RootKeys, rootKeys } from './root-keys.ts'
import { type ActivityHead, type ActivityHeadRow, type ActivityRow, sealedText } from './schema/activity.ts'
import { activityKey, activityKeys } from './schema/list-keys.ts'

/** What tells that a fault of the sandbox befell a request. It names no agent, so that none reads it. */
export const faultEntry = 'sandbox_fault'

/** The number of a party's last row; 0 before the first. */
async function lastSequence(tx: Transaction, partyId: string): Promise<number> {
  return (await last(tx, { partyId })).rows[0]?.sequence ?? 0
}

const last = prepared((db, by: { partyId: string }) =>
  db.selectFrom('activity').select('sequence').where('partyId', '=', by.partyId).orderBy('sequence', 'desc').limit(1),
)

/** @throws StaleWriteError when another row took its place in the chain since the head was read. */
export async function insertActivity(tx: Transaction, row: ActivityRow): Promise<void> {
  await insert(tx, row)
  const keys = activityKeys(row)
  const named = Object.fromEntries(keys.map((key, at) => [`${at}`, key]))
  if (keys.length > 0) await insertKeys(keys.length)(tx, { ...named, sequence: row.sequence })
}

type KeyParameters = Record<string, number>

/** By how many keys they insert: as many as one row may have. */
const insertingKeys = new Map<number, (tx: Transaction, keys: KeyParameters) => Promise<void>>()

/** What inserts so many keys of a row. */
function insertKeys(count: number) {
  const known = insertingKeys.get(count)
  if (known !== undefined) return known
  const insert = writing((db, given: KeyParameters) => {
    const keys = Array.from({ length: count }, (_, at) => ({ key: given[at] ?? 0, sequence: given.sequence ?? 0 }))
    return db.insertInto('activityKeys').values(keys)
  })
  insertingKeys.set(count, insert)
  return insert
}

const insert = changingOne(
  (db, row: ActivityRow) =>
    db
      .insertInto('activity')
      .values(row)
      .onConflict((conflict) => conflict.columns(['partyId', 'sequence']).doNothing()),
  ({ partyId }) => `activity ${partyId}`,
)

export interface ActivityScope {
  partyId: string
  agentId: string | null
  instanceId: string | null
  resourceId: string | null
  /** The agent that asks: it sees no other agent's activity. */
  ownAgentId: string | null
}

export async function listActivity(
  tx: Transaction,
  scope: ActivityScope,
  page: PageRequest,
): Promise<PageOf<ActivityRow>> {
  const { partyId, instanceId, resourceId } = scope
  const agentId = scope.ownAgentId ?? scope.agentId
  if (scope.agentId !== null && scope.agentId !== agentId) return { rows: [], lastId: null }
  // What was done to one resource is little: of it the run is looked for row by row.
  const key = activityKey(partyId, { agentId, instanceId: resourceId === null ? instanceId : null, resourceId })
  const rows = tx.db.selectFrom('activity').selectAll('activity').where('activity.partyId', '=', partyId)
  let query = key === null ? rows : rows.innerJoin('activityKeys', 'activityKeys.sequence', 'activity.sequence')
  const sequence = key === null ? sql.ref<number>('activity.sequence') : sql.ref<number>('activityKeys.sequence')
  if (key !== null) {
    query = query.where(sql.ref('activityKeys.key'), '=', key)
    // Another narrowing may have the same key, though hardly ever.
    if (agentId !== null) query = query.where('activity.agentId', '=', agentId)
    if (instanceId !== null) query = query.where('activity.instanceId', '=', instanceId)
    if (resourceId !== null) query = query.where(names(resourceId))
  }
  if (page.beforeId !== null) {
    const before = tx.db.selectFrom('activity').select('sequence').where('partyId', '=', partyId)
    query = query.where(sequence, '<', before.where('id', '=', page.beforeId))
  }
  const found = await query
    .orderBy(sequence, 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(found, page.limit, (row) => row.id)
}

/**
 * Whether the JSON array holds the id. Not `like`, for which `_` is any character, and on SQLite `a` and `A` are one.
 */
function names(resourceId: string) {
  const ids = sql.ref('activity.resourceIds')
  return sql<SqlBool>`replace(${ids}, ${JSON.stringify(resourceId)}, '') <> ${ids}`
}

/** Rows of a party's chain in their order, from after a sequence number on. */
export async function activityAfter(
  tx: Transaction,
  partyId: string,
  sequence: number,
  limit: number,
): Promise<ActivityRow[]> {
  return tx.db
    .selectFrom('activity')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('sequence', '>', sequence)
    .orderBy('sequence')
    .limit(limit)
    .execute()
}

/** Where a party's chain ends, as it was kept; undefined before its first row. */
export async function activityHead(tx: Transaction, partyId: string): Promise<ActivityHeadRow | undefined> {
  return (await headOf(tx, { partyId })).rows[0]
}

const headOf = prepared((db, by: { partyId: string }) =>
  db.selectFrom('activityHeads').selectAll().where('partyId', '=', by.partyId),
)

/** Where a party's chain ends, and the keys that seal a new end. */
export interface ChainEnd {
  sequence: number
  /** Undefined before the first row. */
  hash: string | undefined
  keys: Pick<RootKeys, 'sign'>
}

/** The next row follows the end that was sealed, not the last that is found: what was cut off stays missing. */
export async function chainEnd(tx: Transaction, partyId: string): Promise<ChainEnd> {
  const [keys, head] = await Promise.all([tx.shared(rootKeys), activityHead(tx, partyId)])
  return { sequence: head?.sequence ?? (await lastSequence(tx, partyId)), hash: head?.hash, keys }
}

/** Keeps where the chain ends now, sealed: whoever changes the database only cannot seal another end. */
export async function sealActivityHead(
  tx: Transaction,
  keys: Pick<RootKeys, 'sign'>,
  { partyId, sequence, hash }: ActivityHead,
): Promise<void> {
  await upsert(tx, { partyId, sequence, hash, seal: keys.sign(sealedText({ partyId, sequence, hash })) })
}

const upsert = writing((db, row: ActivityHeadRow) =>
  db
    .insertInto('activityHeads')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('partyId').doUpdateSet({ sequence: row.sequence, hash: row.hash, seal: row.seal }),
    ),
)

/** Whether the head is as it was sealed. */
export async function headIsSealed(tx: Transaction, head: ActivityHeadRow): Promise<boolean> {
  return (await rootKeys(tx)).verify(sealedText(head), head.seal)
}

/** Whose records, of which run. */
export interface RunOwner {
  partyId: string
  instanceId: string | null
}

/** What was recorded of a run behind a number of the party's chain, in its order: by the index of runs. */
export function actsOfRun(tx: Transaction, run: RunOwner, after: number, limit: number): Promise<ActivityRow[]> {
  const { partyId, instanceId } = run
  if (instanceId === null)
    return tx.db
      .selectFrom('activity')
      .selectAll()
      .where('partyId', '=', partyId)
      .where('instanceId', 'is', null)
      .where('sequence', '>', after)
      .orderBy('sequence')
      .limit(limit)
      .execute()
  const key = activityKey(partyId, { agentId: null, instanceId, resourceId: null })
  return tx.db
    .selectFrom('activityKeys')
    .innerJoin('activity', 'activity.sequence', 'activityKeys.sequence')
    .selectAll('activity')
    .where('activityKeys.key', '=', key)
    .where('activityKeys.sequence', '>', after)
    .where('activity.partyId', '=', partyId)
    .where('activity.instanceId', '=', instanceId)
    .orderBy('activityKeys.sequence')
    .limit(limit)
    .execute()
}

/** What was recorded of one thing, in the order of the chain. */
export function actsAbout(tx: Transaction, partyId: string, resourceId: string, limit: number): Promise<ActivityRow[]> {
  const key = activityKey(partyId, { agentId: null, instanceId: null, resourceId })
  return tx.db
    .selectFrom('activityKeys')
    .innerJoin('activity', 'activity.sequence', 'activityKeys.sequence')
    .selectAll('activity')
    .where(sql.ref('activityKeys.key'), '=', key)
    .where('activity.partyId', '=', partyId)
    .orderBy('activityKeys.sequence')
    .limit(limit)
    .execute()
}
