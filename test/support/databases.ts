import { randomUUID } from 'node:crypto'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { describe, inject } from 'vitest'
import { realSystem, type System } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { isDeep } from './depth.ts'
import { keepEach } from './keep-each.ts'
import { runResource } from './run-resources.ts'
import { makeSerializable } from './serialization-failures.ts'

const isSerializable = process.env.TEST_POSTGRES === 'serializable'
if (isSerializable) makeSerializable()

export const sqlite: TestDatabase = { name: 'sqlite', create: createSqlite, createEmpty: createEmptySqlite }
export const postgres: TestDatabase = { name: 'postgres', create: createPostgres, createEmpty: createEmptyPostgres }

/** The kinds of database that the service supports. */
export const databases: readonly TestDatabase[] = [sqlite, postgres]

/** The databases for slow tests, which run on PostgreSQL only in the deep run. */
export const databasesForLong: readonly TestDatabase[] = isDeep ? databases : [sqlite]

/**
 * Declares tests that must pass on every database. PostgreSQL is several times slower than SQLite, so outside the deep
 * run, only every eighth test runs on PostgreSQL.
 */
export function onEachDatabase(name: string, tests: (database: TestDatabase) => void): void {
  describe.each(databases)(`${name} on $name`, (database) => {
    tests(database)
    if (database === postgres) keepEach(8)
  })
}

export interface TestDatabase {
  name: 'sqlite' | 'postgres'
  /**
   * Creates a database with the schema. `drop` closes the store. On SQLite, it then deletes the file. On PostgreSQL, it
   * usually empties the database for the next test of this worker. Emptying a database is twenty times as fast as
   * creating one, so every test can have its own world.
   * @param from a SQLite file to copy; by default, a file with the schema but no records. PostgreSQL ignores it.
   */
  create(system?: System, from?: string): Promise<{ store: Store; url: string; drop(): Promise<void> }>
  /** Creates a database without a schema. Close all stores that use it before calling `drop`. */
  createEmpty(): Promise<EmptyDatabase>
}

interface EmptyDatabase {
  url: string
  drop(): Promise<void>
}

async function createSqlite(system: System = realSystem, from?: string) {
  const database = await createEmptySqlite()
  await copyFile(from ?? (await sqliteTemplate()), database.url.slice('sqlite:'.length))
  return openOn(database, system)
}

/**
 * Returns a SQLite file with the schema. Each worker creates it once and copies it for each test, because a copy is
 * twenty times as fast as a migration.
 */
export function sqliteTemplate(): Promise<string> {
  template ??= makeTemplate()
  return template
}

let template: Promise<string> | undefined

async function makeTemplate(): Promise<string> {
  const file = join(inject('runDirectory'), `template-${randomUUID()}.sqlite`)
  await (await openStore({ url: `sqlite:${file}`, system: realSystem })).close()
  return file
}

async function createEmptySqlite(): Promise<EmptyDatabase> {
  const directory = await mkdtemp(join(inject('fastDirectory'), 'payments-mcp-sqlite-'))
  return {
    url: `sqlite:${join(directory, 'payments.sqlite')}`,
    // Retries, because a service may still use the files for a moment after its store is closed.
    drop: () => rm(directory, { recursive: true, force: true, maxRetries: 10 }),
  }
}

async function createPostgres(system: System = realSystem) {
  const database = spare.pop() ?? (await createReusable())
  // The fake `sleep` would advance the clock of the test whenever a transaction waits before a retry.
  const storeSystem: System = isSerializable ? { ...system, sleep: realSystem.sleep } : system
  const store = await openStore({ url: database.url, system: storeSystem })
  const drop = async () => {
    await store.close()
    if (await restoreTemplate(database.client)) spare.push(database)
    else await database.drop()
  }
  return { store, url: database.url, drop }
}

/** A database with the schema, and a connection for emptying it. */
interface ReusableDatabase extends EmptyDatabase {
  client: pg.Client
}

/**
 * Emptied databases from this worker's earlier tests. They are reused, because creating a database takes twenty times
 * as long as emptying it.
 */
const spare: ReusableDatabase[] = []

async function createReusable(): Promise<ReusableDatabase> {
  const database = await createPostgresFrom((await runResource('postgres')).template.name)
  const client = new pg.Client({ connectionString: database.url })
  // A test may cut this connection. Then `restoreTemplate` returns false, and the database is dropped.
  client.on('error', () => {})
  await client.connect()
  return { ...database, client }
}

/**
 * If a test leaves this many rows, its database is not reused. Even after deletion, so many rows would slow down later
 * tests.
 */
const tooManyRows = 5_000

/**
 * Restores the rows of the template. Returns false if the database cannot be reused because a test changed its tables,
 * cut its connections or left too many rows.
 */
async function restoreTemplate(client: pg.Client): Promise<boolean> {
  const { columns, countColumns, restore } = (await runResource('postgres')).template
  try {
    const { rows } = await client.query(countColumns)
    if (rows[0].count !== columns) return false
    const results = (await client.query(restore)) as unknown as pg.QueryResult[]
    return results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0) < tooManyRows
  } catch {
    return false
  }
}

function createEmptyPostgres(): Promise<EmptyDatabase> {
  return createPostgresFrom('template0')
}

async function createPostgresFrom(template: string): Promise<EmptyDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copies the template's files, because copying through the write-ahead log takes several times as long.
  await administer(`create database ${name} template ${template} strategy file_copy`)
  const url = new URL((await runResource('postgres')).url)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(`drop database ${name} with (force)`) }
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: (await runResource('postgres')).url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

async function openOn(database: EmptyDatabase, system: System) {
  const store = await openStore({ url: database.url, system })
  const drop = async () => {
    await store.close()
    await database.drop()
  }
  return { store, url: database.url, drop }
}
