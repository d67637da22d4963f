import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** What a migration makes of a table's checks, by their names. */
interface ChangedChecks {
  readonly $checks?: Readonly<Record<string, string>>
  readonly $droppedChecks?: Readonly<Record<string, string>>
}

/**
 * Gives a table that there is other checks. PostgreSQL holds them against its rows; SQLite, which cannot change a check,
 * writes every row into a table that has them.
 */
export async function changeChecks(
  db: Kysely<unknown>,
  name: string,
  { $checks = {}, $droppedChecks = {} }: ChangedChecks,
): Promise<void> {
  const [added, dropped] = [Object.entries($checks), Object.entries($droppedChecks)]
  if (added.length + dropped.length === 0) return
  if (db.getExecutor().adapter instanceof SqliteAdapter) return rebuild(db, name, { added, dropped })
  for (const [check] of dropped) await db.schema.alterTable(name).dropConstraint(`${name}_${check}`).execute()
  for (const [check, condition] of added) {
    await db.schema.alterTable(name).addCheckConstraint(`${name}_${check}`, sql.raw(condition)).execute()
  }
}

type Checks = readonly (readonly [check: string, condition: string])[]

async function rebuild(
  db: Kysely<unknown>,
  name: string,
  { added, dropped }: { added: Checks; dropped: Checks },
): Promise<void> {
  const made = sql<{ type: string; sql: string }>`
    select type, sql from sqlite_master where tbl_name = ${name} and sql is not null order by rowid`
  const { rows } = await made.execute(db)
  const written = (checks: Checks) =>
    checks.map(([check, condition]) => `, constraint "${name}_${check}" check (${condition})`)
  let table = rows.find(({ type }) => type === 'table')?.sql ?? ''
  for (const check of written(dropped)) {
    if (!table.includes(check)) throw new Error(`Bug: the table ${name} has no${check}.`)
    table = table.replace(check, () => '')
  }
  table = table.replace(/\)[^)]*$/, (end) => `${written(added).join('')}${end}`)
  const other = `${name}_rebuilt`
  const [from, to] = [sql.table(name), sql.table(other)]
  await sql.raw(table.replace(`"${name}"`, `"${other}"`)).execute(db)
  await sql`insert into ${to} select * from ${from}`.execute(db)
  await sql`drop table ${from}`.execute(db)
  await sql`alter table ${to} rename to ${from}`.execute(db)
  for (const index of rows.filter(({ type }) => type === 'index')) await sql.raw(index.sql).execute(db)
}
