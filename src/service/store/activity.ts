import { type Kysely, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { finderOf } from './engine/find.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { insertRecord, putIdempotencyRecord } from './idempotency-records.ts'
import { deferEnd, deferredEnd, findPartyHead, nextActiveParty, type SealedEnd } from './party-heads.ts'
import { isSignatureOf, type RootKeys, rootKeys } from './root-keys.ts'
import type { ActivityRow } from './schema/activity.ts'
import type { IdempotencyRecordRow } from './schema/idempotency-records.ts'
import { type ActivityHead, sealedText } from './schema/party-heads.ts'
import type { Tables } from './schema/tables.ts'

/**
 * The operation name in activity rows that record an injected sandbox fault. These rows have no agent id, so agents
 * cannot read them.
 */
export const faultEntry = 'sandbox_fault'

/** Returns the number of a party's last activity row, or 0 if the party has no rows. */
async function lastSequence(tx: Transaction, partyId: string): Promise<number> {
  return (await last(tx, { partyId })).rows[0]?.sequence ?? 0
}

const last = prepared((db, by: { partyId: string }) =>
  db.selectFrom('activity').select('sequence').where('partyId', '=', by.partyId).orderBy('sequence', 'desc').limit(1),
)

/**
 * Adds a row to the end of its party's chain of activity rows. If `record` is given, also stores it as the record of
 * the request's idempotency key.
 * @throws StaleWriteError if the chain has grown since its end was read, so it already has a row with this number.
 */
export async function insertActivity(tx: Transaction, row: ActivityRow, record?: IdempotencyRecordRow): Promise<void> {
  if (tx.dialect === 'postgres') {
    if (record === undefined) return insertWithResources(tx, row)
    const { partyId: recordPartyId, status: recordStatus, ...rest } = record
    return insertWithRecord(tx, { ...row, ...rest, recordPartyId, recordStatus })
  }
  if (record !== undefined) await putIdempotencyRecord(tx, record)
  // On SQLite, a trigger adds the rows of `activityResources`.
  await insert(tx, row)
}

const rowLabel = ({ partyId }: ActivityRow) => `activity ${partyId}`

const insert = changingOne((db, row: ActivityRow) => insertQuery(db, row), rowLabel)

function insertQuery(db: Kysely<Tables>, row: ActivityRow) {
  return db
    .insertInto('activity')
    .values(row)
    .onConflict((conflict) => conflict.columns(['partyId', 'sequence']).doNothing())
}

/** Inserts a row, and one row of `activityResources` for each of its resource ids, in one statement (Postgres only). */
const insertWithResources = changingOne((db, row: ActivityRow) => resourcesInsertQuery(db, row), rowLabel)

type WithRecord = ActivityRow &
  Omit<IdempotencyRecordRow, 'partyId' | 'status'> & { recordPartyId: string; recordStatus: number | null }

const insertWithRecord = changingOne(
  (db, { key, fingerprint, state, finishedAtMs, answer, recordPartyId, recordStatus, ...row }: WithRecord) => {
    const record = { key, fingerprint, state, finishedAtMs, answer, partyId: recordPartyId, status: recordStatus }
    const recording = db.with('recorded', (inner) => insertRecord(inner as unknown as Kysely<Tables>, record))
    return resourcesInsertQuery(recording as unknown as Kysely<Tables>, row)
  },
  rowLabel,
)

function resourcesInsertQuery(db: Kysely<Tables>, row: ActivityRow) {
  return db
    .with('named', (inner) =>
      inner
        .insertInto('activityResources')
        .expression(
          sql`select distinct ${row.partyId}, ids.id, cast(${row.sequence} as bigint) from jsonb_array_elements_text(cast(${row.resourceIds} as jsonb)) as ids (id)`,
        ),
    )
    .with('changed', (inner) => insertQuery(inner as unknown as Kysely<Tables>, row).returning('sequence'))
    .selectFrom('changed')
    .select(sql<number>`1 / count(*)`.as('one'))
}

export interface ActivityScope {
  partyId: string
  agentId: string | null
  instanceId: string | null
  resourceId: string | null
  /** The calling agent, which sees only its own activity; null if the caller is not an agent. */
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
  let query = resourceId === null ? rows : withResource(rows, partyId, resourceId)
  const sequence = sql.ref<number>(resourceId === null ? 'activity.sequence' : 'activityResources.sequence')
  if (instanceId !== null) {
    query = query.where(resourceId === null ? indexed('instanceId', instanceId) : noIndex('instanceId', instanceId))
  }
  if (agentId !== null) {
    query = query.where((resourceId ?? instanceId) === null ? indexed('agentId', agentId) : noIndex('agentId', agentId))
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

/** Creates a condition on a column in a form that lets the database use the column's index. */
const indexed = (column: Narrowing, value: string) => sql<SqlBool>`${sql.ref(`activity.${column}`)} = ${value}`

/**
 * Creates a condition on a column in a form that keeps the database from using the column's index. This index could
 * find many rows, such as all rows of an agent. The index that is used instead finds only the few rows of a resource or
 * run.
 */
const noIndex = (column: Narrowing, value: string) =>
  sql<SqlBool>`coalesce(${sql.ref(`activity.${column}`)}, '') = ${value}`

/** Restricts a query for a party's activity rows to rows that refer to a resource. */
function withResource<Row>(rows: SelectQueryBuilder<Tables, 'activity', Row>, partyId: string, resourceId: string) {
  return rows
    .innerJoin('activityResources', (join) =>
      join
        .onRef('activityResources.partyId', '=', 'activity.partyId')
        .onRef('activityResources.sequence', '=', 'activity.sequence'),
    )
    .where('activityResources.partyId', '=', partyId)
    .where('activityResources.resourceId', '=', resourceId)
}

/** Returns the rows of a party's chain with numbers above `sequence`, in order. */
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

/** Finds the first party with an id above `after` that has activity rows or a stored head. */
export async function nextChain(tx: Transaction, after: string): Promise<string | undefined> {
  const activity = tx.db.selectFrom('activity').select('partyId').where('partyId', '>', after)
  const listed = await activity.orderBy('partyId').limit(1).executeTakeFirst()
  const found = [listed?.partyId, await nextActiveParty(tx, after)].filter((id) => id !== undefined)
  return found.toSorted()[0]
}

/** Finds the id of the row with the given number in a party's chain. */
export async function activityIdAt(
  { db }: Transaction,
  partyId: string,
  sequence: number,
): Promise<string | undefined> {
  const row = db.selectFrom('activity').select('id').where('partyId', '=', partyId).where('sequence', '=', sequence)
  return (await row.executeTakeFirst())?.id
}

/** Returns the stored end of a party's chain; undefined before the chain's first row. */
export async function activityHead(tx: Transaction, partyId: string): Promise<SealedHead | undefined> {
  return sealedHead(await findPartyHead(tx, partyId))
}

interface SealedHead extends ActivityHead {
  seal: string
}

function sealedHead(head: SealedEnd | undefined): SealedHead | undefined {
  if (head === undefined || head.hash === null || head.seal === null) return undefined
  return { partyId: head.partyId, sequence: head.activitySequence, hash: head.hash, seal: head.seal }
}

/** The end of a party's chain, and the keys that seal a new end. */
export interface ChainEnd {
  sequence: number
  /** The hash in the sealed end; undefined if there is no sealed end. */
  hash: string | undefined
  keys: Pick<RootKeys, 'sign'>
}

/**
 * Returns the end of a party's chain: the sealed end, not the last row that still exists. If numbers continued from the
 * last row, new rows could reuse the numbers of deleted rows and hide the deletion.
 */
export async function chainEnd(tx: Transaction, partyId: string): Promise<ChainEnd> {
  const deferred = deferredEnd(tx, partyId)
  const [keys, sealedEnd] = await Promise.all([tx.shared(rootKeys), deferred ?? findPartyHead(tx, partyId)])
  return chainEndAt(tx, partyId, sealedEnd, keys)
}

/** Returns the end of a party's chain. If there is no sealed end, the number is that of the party's last row. */
export async function chainEndAt(
  tx: Transaction,
  partyId: string,
  sealedEnd: SealedEnd | undefined,
  keys: ChainEnd['keys'],
): Promise<ChainEnd> {
  const head = sealedHead(sealedEnd)
  return { sequence: head?.sequence ?? (await lastSequence(tx, partyId)), hash: head?.hash, keys }
}

/**
 * Signs the new end of a chain. The end and its signature are stored when the transaction ends. If the root keys are
 * wrapped (encrypted), access to the database alone is not enough to forge the signature.
 */
export function sealActivityHead(tx: Transaction, keys: Pick<RootKeys, 'sign'>, head: ActivityHead): void {
  const { partyId, sequence, hash } = head
  deferEnd(tx, { partyId, activitySequence: sequence, hash, seal: keys.sign(sealedText(head)) })
}

/** Returns whether the seal of a chain's end is a valid signature of that end. */
export async function headIsSealed(tx: Transaction, head: SealedHead): Promise<boolean> {
  return await isSignatureOf(tx, sealedText(head), head.seal)
}

/** The party and the instance id of a run. */
export interface RunOwner {
  partyId: string
  instanceId: string | null
}

/** Returns a run's activity rows with numbers above `after`, in order. */
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

/** Returns the rows of a party's chain that refer to a resource, in order. */
export function actsAbout(tx: Transaction, partyId: string, resourceId: string, limit: number): Promise<ActivityRow[]> {
  const rows = tx.db.selectFrom('activity').selectAll('activity').where('activity.partyId', '=', partyId)
  return withResource(rows, partyId, resourceId).orderBy('activityResources.sequence').limit(limit).execute()
}

export const findActivity = finderOf('activity', 'partyId', 'id')
