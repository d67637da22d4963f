import { type Kysely, type RawBuilder, sql } from 'kysely'
import { newId, type System } from '../../core/system.ts'
import { raiseSettingsRevision, realNow } from './clock.ts'
import { replaceSecret, seededCredentials } from './credentials.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { clearedTables, worldTables } from './schema/reset-scopes.ts'
import type { SnapshotRow } from './schema/snapshots.ts'
import { columnsOf, runsOnPostgres } from './schema/table.ts'
import { type Tables, tables } from './schema/tables.ts'

/**
 * The name of the snapshot that a reset restores. Callers cannot save a snapshot with this name, because the names that
 * they choose cannot contain parentheses.
 */
export const initialSnapshotName = '(as filled)'

interface NewSnapshot {
  name: string
  /**
   * The time to which a restore sets the sandbox clock; null for the initial world, whose start time is in the table
   * `world`.
   */
  clockMs: number | null
  /** The time of saving, by the real clock. */
  savedAtMs: number
}

/**
 * Saves the world for later resets, as it is at the end of the transaction. The snapshot does not contain the keys'
 * secrets, because startup sets them afterwards.
 */
export function saveInitialWorld(tx: Transaction, system: System): void {
  tx.atEnd(saveInitialWorlds, system)
}

async function saveInitialWorlds(tx: Transaction, systems: readonly System[]): Promise<void> {
  const savedAtMs = await realNow(tx)
  for (const system of systems) await saveSnapshot(tx, system, { name: initialSnapshotName, clockMs: null, savedAtMs })
}

/**
 * Saves the world as a snapshot. Replaces an earlier snapshot with the same name. Call this in an exclusive
 * transaction.
 */
export async function saveSnapshot(
  tx: Transaction,
  system: System,
  { name, clockMs, savedAtMs }: NewSnapshot,
): Promise<SnapshotRow> {
  const before = await findSnapshot(tx, name)
  if (before !== undefined) await deleteSnapshot(tx, before.id)
  const id = newId('snp', system, savedAtMs)
  for (const table of tableStatements) await table.save(tx, { id })
  const { characters } = await tx.db
    .selectFrom('snapshotRows')
    .select((row) => row.fn.coalesce(row.fn.sum<number>(row.fn('length', ['rows'])), row.lit(0)).as('characters'))
    .where('snapshotId', '=', id)
    .executeTakeFirstOrThrow()
  const row = { id, name, clockMs, characters: Number(characters), savedAtMs }
  await tx.db.insertInto('snapshots').values(row).execute()
  await raiseSettingsRevision(tx)
  return row
}

/** Replaces the world with a snapshot. Call this in an exclusive transaction. */
export async function restoreSnapshot(tx: Transaction, { id }: Pick<SnapshotRow, 'id'>): Promise<void> {
  // Startup may have set the secrets of seeded keys. These secrets must stay valid after the restore.
  const seeded = await seededCredentials(tx)
  await emptyWorld(tx)
  for (const table of tableStatements) await table.restore(tx, { id })
  for (const key of seeded) await replaceSecret(tx, key, key)
}

/** Deletes all rows of the world, and all records of requests to this world. */
export async function emptyWorld(tx: Transaction): Promise<void> {
  for (const empty of emptying) await empty(tx, {})
}

export async function findSnapshot(tx: Transaction, name: string): Promise<SnapshotRow | undefined> {
  return tx.db.selectFrom('snapshots').selectAll().where('name', '=', name).executeTakeFirst()
}

/** Returns the snapshots that callers saved, newest first. */
export function listSnapshots(tx: Transaction, page: PageRequest): Promise<PageOf<SnapshotRow>> {
  return readPage(tx.db.selectFrom('snapshots').selectAll().where('name', '<>', initialSnapshotName), page)
}

export async function deleteSnapshot(tx: Transaction, id: string): Promise<void> {
  await tx.db.deleteFrom('snapshotRows').where('snapshotId', '=', id).execute()
  await tx.db.deleteFrom('snapshots').where('id', '=', id).execute()
  await raiseSettingsRevision(tx)
}

/** Returns the number and total size of the snapshots that callers saved. */
export async function snapshotTotals(tx: Transaction): Promise<{ count: number; characters: number }> {
  const { count, characters } = await tx.db
    .selectFrom('snapshots')
    .select((row) => [row.fn.countAll().as('count'), row.fn.sum('characters').as('characters')])
    .where('name', '<>', initialSnapshotName)
    .executeTakeFirstOrThrow()
  return { count: Number(count), characters: Number(characters ?? 0) }
}

const emptying = [...worldTables, ...clearedTables].map((name) =>
  preparedWrite((db, _none: object) => db.deleteFrom(name)),
)

interface BySnapshot {
  id: string
}

/**
 * For each table of the world, the statements that save and restore its rows. The database itself converts rows to and
 * from JSON.
 */
const tableStatements = worldTables.map((name) => ({
  save: preparedWrite((db, { id }: BySnapshot) => compiled(db, saveQuery(db, name, id))),
  restore: preparedWrite((db, { id }: BySnapshot) => compiled(db, restoreQuery(db, name, id))),
}))

const compiled = (db: Kysely<Tables>, statement: RawBuilder<unknown>) => ({ compile: () => statement.compile(db) })

/** The maximum number of a table's rows that are stored together as one JSON array. */
const maxRowsPerPart = 500

function saveQuery(db: Kysely<Tables>, name: keyof Tables, id: string) {
  const columns = columnsOf(tables[name]).map(([column]) => column)
  const isPostgres = runsOnPostgres(db)
  const fields = sql.join(columns.flatMap((column) => [sql.lit(column), sql.ref(column)]))
  const row = isPostgres ? sql`row_to_json(${sql.table(name)})` : sql`json_object(${fields})`
  const all = isPostgres ? sql`json_agg("row")::text` : sql`json_group_array(json("row"))`
  const numbered = sql`select (row_number() over () - 1) / ${sql.lit(maxRowsPerPart)} as "part", ${row} as "row" from ${sql.table(name)}`
  const into = sql`insert into "snapshotRows" ("snapshotId", "tableName", "part", "rows")`
  return sql`${into} select ${text(id)}, ${sql.lit(name)}, "part", ${all} from (${numbered}) as numbered group by "part"`
}

function restoreQuery(db: Kysely<Tables>, name: keyof Tables, id: string) {
  const columns = columnsOf(tables[name])
  const isPostgres = runsOnPostgres(db)
  const values = columns.map(([column]) =>
    isPostgres ? sql`of_row.${sql.ref(column)}` : sql`of_row.value ->> ${sql.lit(column)}`,
  )
  const typed = columns.map(([column, { type }]) => sql`${sql.ref(column)} ${sql.raw(type)}`)
  const rows = isPostgres
    ? sql`json_to_recordset(part."rows"::json) as of_row(${sql.join(typed)})`
    : sql`json_each(part."rows") as of_row`
  const ofTable = sql`part."snapshotId" = ${text(id)} and part."tableName" = ${sql.lit(name)}`
  const names = sql.join(columns.map(([column]) => sql.ref(column)))
  return sql`insert into ${sql.table(name)} (${names}) select ${sql.join(values)} from "snapshotRows" as part, ${rows} where ${ofTable}`
}

const text = (value: string) => sql`cast(${value} as text)`
