import { type SqlBool, sql } from 'kysely'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import { rootKeys } from './root-keys.ts'
import { type ActivityHead, type ActivityHeadRow, type ActivityRow, sealedText } from './schema/activity.ts'

/** The number of a party's last row; 0 before the first. */
export async function lastSequence(tx: Transaction, partyId: string): Promise<number> {
  return (await last(tx, { partyId })).rows[0]?.sequence ?? 0
}

const last = prepared((db, by: { partyId: string }) =>
  db.selectFrom('activity').select('sequence').where('partyId', '=', by.partyId).orderBy('sequence', 'desc').limit(1),
)

/** @throws StaleWriteError when another row took its place in the chain since the head was read. */
export async function insertActivity(tx: Transaction, row: ActivityRow): Promise<void> {
  mustChangeOne(await insert(tx, row), `activity ${row.partyId}`)
}

const insert = prepared((db, row: ActivityRow) =>
  db
    .insertInto('activity')
    .values(row)
    .onConflict((conflict) => conflict.columns(['partyId', 'sequence']).doNothing()),
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
  let query = tx.db.selectFrom('activity').selectAll().where('partyId', '=', scope.partyId)
  if (scope.ownAgentId !== null) query = query.where('agentId', '=', scope.ownAgentId)
  if (scope.agentId !== null) query = query.where('agentId', '=', scope.agentId)
  if (scope.instanceId !== null) query = query.where('instanceId', '=', scope.instanceId)
  if (scope.resourceId !== null) query = query.where(names(scope.resourceId))
  if (page.beforeId !== null) {
    const before = tx.db.selectFrom('activity').select('sequence').where('id', '=', page.beforeId)
    query = query.where('sequence', '<', before)
  }
  const rows = await query
    .orderBy('sequence', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
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

/** Keeps where the chain ends now, sealed: whoever changes the database only cannot seal another end. */
export async function sealActivityHead(tx: Transaction, { partyId, sequence, hash }: ActivityHead): Promise<void> {
  const seal = (await rootKeys(tx)).sign(sealedText({ partyId, sequence, hash }))
  await upsert(tx, { partyId, sequence, hash, seal })
}

const upsert = prepared((db, row: ActivityHeadRow) =>
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
