import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { insertingSeveral } from './engine/insert.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { changingOne, prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { isSignatureOf, type RootKeys, rootKeys } from './root-keys.ts'
import { type ActivityHead, type ActivityHeadRow, type ActivityRow, sealedText } from './schema/activity.ts'
import type { Tables } from './schema/tables.ts'

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
  const { partyId, sequence } = row
  const ids = [...new Set(JSON.parse(row.resourceIds) as string[])]
  await insertResources(
    tx,
    ids.map((resourceId) => ({ partyId, resourceId, sequence })),
  )
}

const insertResources = insertingSeveral('activityResources')

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
  const rows = tx.db.selectFrom('activity').selectAll('activity').where('activity.partyId', '=', partyId)
  let query = resourceId === null ? rows : about(rows, partyId, resourceId)
  const sequence = sql.ref<number>(resourceId === null ? 'activity.sequence' : 'activityResources.sequence')
  if (instanceId !== null) {
    query = query.where(resourceId === null ? by('instanceId', instanceId) : within('instanceId', instanceId))
  }
  if (agentId !== null) {
    query = query.where((resourceId ?? instanceId) === null ? by('agentId', agentId) : within('agentId', agentId))
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

type Narrowing = 'agentId' | 'instanceId'

/** Narrows by the index of a column. */
const by = (column: Narrowing, value: string) => sql<SqlBool>`${sql.ref(`activity.${column}`)} = ${value}`

/**
 * Narrows what another index finds, row by row: a resource belongs to few runs, and a run to few agents. Written so that
 * no database walks all rows of the agent instead.
 */
const within = (column: Narrowing, value: string) =>
  sql<SqlBool>`coalesce(${sql.ref(`activity.${column}`)}, '') = ${value}`

/** Narrows rows of a party to those that name a resource. */
function about<Row>(rows: SelectQueryBuilder<Tables, 'activity', Row>, partyId: string, resourceId: string) {
  return rows
    .innerJoin('activityResources', (join) =>
      join
        .onRef('activityResources.partyId', '=', 'activity.partyId')
        .onRef('activityResources.sequence', '=', 'activity.sequence'),
    )
    .where('activityResources.partyId', '=', partyId)
    .where('activityResources.resourceId', '=', resourceId)
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

/** Finds the first party, in the order of their ids after `after`, that has rows of activity or a head. */
export async function nextChain({ db }: Transaction, after: string): Promise<string | undefined> {
  const first = (table: 'activity' | 'activityHeads') =>
    db.selectFrom(table).select('partyId').where('partyId', '>', after).orderBy('partyId').limit(1).executeTakeFirst()
  const found = [await first('activity'), await first('activityHeads')].flatMap((row) => row?.partyId ?? [])
  return found.toSorted()[0]
}

/** Finds the id of the row with a number in a party's chain. */
export async function activityIdAt(
  { db }: Transaction,
  partyId: string,
  sequence: number,
): Promise<string | undefined> {
  const row = db.selectFrom('activity').select('id').where('partyId', '=', partyId).where('sequence', '=', sequence)
  return (await row.executeTakeFirst())?.id
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
  return await isSignatureOf(tx, sealedText(head), head.seal)
}

/** Whose records, of which run. */
export interface RunOwner {
  partyId: string
  instanceId: string | null
}

/** Reads what was recorded of a run behind a number of the party's chain, in its order. */
export function actsOfRun(tx: Transaction, run: RunOwner, after: number, limit: number): Promise<ActivityRow[]> {
  const { partyId, instanceId } = run
  return tx.db
    .selectFrom('activity')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('instanceId', instanceId === null ? 'is' : '=', instanceId)
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(limit)
    .execute()
}

/** Reads what was recorded of one resource of a party, in the order of the chain. */
export function actsAbout(tx: Transaction, partyId: string, resourceId: string, limit: number): Promise<ActivityRow[]> {
  const rows = tx.db.selectFrom('activity').selectAll('activity').where('activity.partyId', '=', partyId)
  return about(rows, partyId, resourceId).orderBy('activityResources.sequence').limit(limit).execute()
}
