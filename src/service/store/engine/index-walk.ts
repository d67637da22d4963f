import { type Kysely, PostgresAdapter, type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { type PageOf, type PageRequest, pageOf } from './page.ts'
import { prepared } from './prepared.ts'
import type { Transaction } from './store.ts'

/** The values that a row must have, by column. The value null matches rows in which the column is null. */
type Values<Table extends keyof Tables> = { readonly [Column in keyof Tables[Table]]?: Tables[Table][Column] }

/**
 * Reads one page of the rows that match any branch. A branch is a set of column values. No row may match two branches.
 */
type Walk<Table extends keyof Tables, Row> = (
  tx: Transaction,
  branches: readonly Values<Table>[],
  page: PageRequest,
  /**
   * The party that owns the rows. Pass this id only if the primary key of the table on PostgreSQL begins with
   * `partyId`.
   */
  partyId?: string,
) => Promise<PageOf<Row>>

/** The maximum number of branches in one statement. SQLite accepts at most 500. */
const maxBranches = 100
/**
 * The maximum number of compiled statements to cache. Each combination of columns in the branches needs its own
 * statement, but only a few combinations are common.
 */
const maxShapes = 100
/** If this string is appended to a prefix, the result sorts after every id with the prefix, in any collation. */
const afterAllIds = 'zzzz'

type QueryValues = Record<string, unknown>
type Read<Row> = (tx: Transaction, values: QueryValues) => Promise<{ rows: Row[] }>

/**
 * Makes a function that reads pages of a table's rows, newest row first. The cost of a page does not depend on the size
 * of the table or the number of matching rows. For each branch, the database walks an index that begins with the
 * branch's columns and ends with the id. The walks are merged. Every page needs a walk for each branch, so there should
 * be few branches, for example one for each status, or one for each of a party's wallets.
 * @param rowsOf Selects the table's rows, joined with related rows if needed.
 * @param prefix The prefix of the ids to read. Needed only if the table also has ids with other prefixes.
 */
export function createIndexWalk<Table extends keyof Tables, Joined extends keyof Tables, Row extends { id: string }>(
  table: Table,
  rowsOf: (db: Kysely<Tables>) => SelectQueryBuilder<Tables, Joined, Row>,
  prefix = '',
): Walk<Table, Row> {
  const shapes = new Map<string, Read<Row>>()
  const readerOf = (branches: readonly Values<Table>[], hasParty: boolean) => {
    const columns = branches.map((branch) => Object.entries(branch).map(([name, value]) => ({ name, value })))
    const branchShapes = columns
      .map((branch) => branch.map(({ name, value }) => (value === null ? `${name}?` : name)).join())
      .join(';')
    const shape = `${hasParty} ${branchShapes}`
    let read = shapes.get(shape)
    if (read === undefined) {
      if (shapes.size === maxShapes) shapes.clear()
      const nullColumns = columns.map(
        (branch) => new Set(branch.filter(({ value }) => value === null).map(({ name }) => name)),
      )
      const names = columns.map((branch) => branch.map(({ name }) => name))
      read = prepared((db, values: QueryValues) => {
        const id = sql.ref(`${table}.id`)
        const ids = mergedWalks(
          table,
          names,
          (index, name) => (nullColumns[index]?.has(name) ? null : values[parameterName(index, name)]),
          {
            before: values.before,
            prefix,
            limit: values.limit,
          },
        )
        const found = rowsOf(db).where(sql<boolean>`${id} in (${ids})`)
        // The condition on the party is only for PostgreSQL, where the primary key begins with `partyId`. On SQLite,
        // the primary key does not contain `partyId`, so the condition would need an additional index.
        const isKeyedByParty = hasParty && db.getExecutor().adapter instanceof PostgresAdapter
        const partyRows = isKeyedByParty
          ? found.where(sql<boolean>`${sql.ref(`${table}.partyId`)} = ${values.partyId}`)
          : found
        return partyRows.orderBy(id, 'desc')
      }) as Read<Row>
      shapes.set(shape, read)
    }
    return read
  }
  return async (tx, branches, { limit, beforeId }, partyId) => {
    const before = beforeId ?? prefix + afterAllIds
    const rows: Row[] = []
    for (let from = 0; from < branches.length; from += maxBranches) {
      const batch = branches.slice(from, from + maxBranches)
      const values = batch.flatMap((branch, index) =>
        Object.entries(branch).map(([name, value]) => [parameterName(index, name), value]),
      )
      const queryValues = { ...Object.fromEntries(values), before, limit: limit + 1, partyId }
      rows.push(...(await readerOf(batch, partyId !== undefined)(tx, queryValues)).rows)
    }
    if (branches.length > maxBranches) rows.sort((a, b) => (a.id < b.id ? 1 : -1))
    return pageOf(rows.slice(0, limit + 1), limit, (row) => row.id)
  }
}

const parameterName = (index: number, name: string) => `${name} ${index}`

interface Bounds {
  before: unknown
  prefix: string
  limit: unknown
}

/**
 * Selects the newest ids of all branches. The page's limit also applies to each single branch, because all rows of the
 * page may come from one branch.
 */
function mergedWalks(
  table: string,
  branches: readonly (readonly string[])[],
  valueAt: (index: number, name: string) => unknown,
  { before, prefix, limit }: Bounds,
) {
  const [rows, id] = [sql.table(table), sql.ref('id')]
  const walks = branches.map((names, index) => {
    const conditions = names.map((name) => {
      const value = valueAt(index, name)
      return value === null ? sql`${sql.ref(name)} is null` : sql`${sql.ref(name)} = ${value}`
    })
    if (prefix !== '') conditions.push(sql`${id} > ${sql.lit(prefix)}`)
    const all = sql.join([...conditions, sql`${id} < ${before}`], sql` and `)
    return sql`select ${id} from ${rows} where ${all} order by ${id} desc limit ${limit}`
  })
  const [only] = walks
  if (walks.length === 1 && only !== undefined) return only
  const union = walks.map((walk, index) => sql`select ${id} from (${walk}) as ${sql.ref(`walk${index}`)}`)
  return sql`${sql.join(union, sql` union all `)} order by ${id} desc limit ${limit}`
}

/** Returns all combinations of one value for each column. */
export function combinations<Choices extends Readonly<Record<string, readonly unknown[]>>>(
  choices: Choices,
): { [Name in keyof Choices]: Choices[Name][number] }[] {
  let all: Record<string, unknown>[] = [{}]
  for (const [name, values] of Object.entries(choices)) {
    all = all.flatMap((one) => values.map((value) => ({ ...one, [name]: value })))
  }
  return all as { [Name in keyof Choices]: Choices[Name][number] }[]
}
