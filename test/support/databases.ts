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

/** The databases the service runs on. */
export const databases: readonly TestDatabase[] = [sqlite, postgres]

/** The databases of slow tests, which use PostgreSQL only in the deep run. */
export const databasesForLong: readonly TestDatabase[] = isDeep ? databases : [sqlite]

/**
 * Declares tests that must pass on every database. PostgreSQL is several times slower than SQLite, so outside the deep
 * run it gets only every eighth test.
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
   * Creates a database that has the schema and nothing else. `drop` closes the store. On PostgreSQL it also empties the
   * database for this worker's next test. That takes a twentieth of the time of a new copy, so every test can have its
   * own world.
   * @param from a SQLite file to copy instead of the one with only the schema
   */
  create(system?: System, from?: string): Promise<{ store: Store; url: string; drop(): Promise<void> }>
  /** Creates a database without a schema. Close the stores on it before `drop`. */
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
 * Returns a SQLite file with the schema. Each worker creates it once, because copying it takes a twentieth of the time
 * of a migration.
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
    // After another service closes its store, files may remain for a moment.
    drop: () => rm(directory, { recursive: true, force: true, maxRetries: 10 }),
  }
}

async function createPostgres(system: System = realSystem) {
  const database = spare.pop() ?? (await createReusable())
  // Waiting before a transaction's retry must not advance a test's clock.
  const patient: System = isSerializable ? { ...system, sleep: realSystem.sleep } : system
  const store = await openStore({ url: database.url, system: patient })
  const drop = async () => {
    await store.close()
    if (await restoreTemplate(database.client)) spare.push(database)
    else await database.drop()
  }
  return { store, url: database.url, drop }
}

/** A database with the schema, and a connection that empties it. */
interface Reusable extends EmptyDatabase {
  client: pg.Client
}

/**
 * Emptied databases of this worker's earlier tests. They are reused, because creating one takes twenty times as long as
 * emptying one.
 */
const spare: Reusable[] = []

async function createReusable(): Promise<Reusable> {
  const database = await createPostgresFrom((await runResource('postgres')).template.name)
  const client = new pg.Client({ connectionString: database.url })
  // If a test cuts all connections, the database is not reused.
  client.on('error', () => {})
  await client.connect()
  return { ...database, client }
}

/** Above this number of deleted rows a new copy is cheaper, because their dead space slows the next test down. */
const maxDeleted = 5_000

/**
 * Restores the database to its template. Returns false if a test changed its tables, cut its connections or filled it.
 */
async function restoreTemplate(client: pg.Client): Promise<boolean> {
  const { columns, countColumns, restore } = (await runResource('postgres')).template
  try {
    const { rows } = await client.query(countColumns)
    if (rows[0].count !== columns) return false
    const results = (await client.query(restore)) as unknown as pg.QueryResult[]
    return results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0) < maxDeleted
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
