import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { inspectDatabase } from '../../src/service/store/engine/inspection.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { OtherSchemaError, WrongDatabaseError } from '../../src/service/store/engine/wrong-database.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'

async function execute(url: string, statements: string): Promise<void> {
  if (url.startsWith('sqlite:')) {
    const file = new DatabaseSync(url.slice(7))
    file.exec(statements)
    return file.close()
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statements)
  await client.end()
}

/**
 * Returns the state of a database, which must not change if the service refuses to open the database. On SQLite, the
 * state is the file, its mode and the names of the files next to it. On PostgreSQL, it is the names of the tables and
 * indexes.
 */
async function readState(url: string): Promise<unknown> {
  if (url.startsWith('sqlite:')) {
    const path = url.slice(7)
    return { bytes: readFileSync(path, 'hex'), mode: statSync(path).mode, beside: readdirSync(dirname(path)) }
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    'select relname from pg_class where relnamespace = current_schema()::regnamespace',
  )
  await client.end()
  return rows.map(({ relname }) => relname).sort()
}

const inspect = (url: string) => inspectDatabase({ url, secrets: undefined, keyHash: '' })

onEachDatabase('the origin of a database', (database) => {
  let url: string
  let drop: () => Promise<void>
  beforeEach(async () => {
    const empty = await database.createEmpty()
    url = empty.url
    drop = empty.drop
  })
  afterEach(() => drop())

  const foreignDatabases = [
    ['with a table named like one of ours', 'create table payments (id integer primary key, note text)'],
    [
      'with a table named like one of ours and Kysely migrations',
      `create table kysely_migration (name varchar(255), timestamp varchar(255)); create table clock (id integer);
       insert into kysely_migration values ('0001_users', '2026-01-01')`,
    ],
  ] as const
  test.each(foreignDatabases)("another program's database %s is refused and not changed", async (_, statements) => {
    await execute(url, statements)
    if (url.startsWith('sqlite:')) chmodSync(url.slice(7), 0o644)
    const before = await readState(url)
    const opening = openStore({ url, system: realSystem })
    await expect(opening).rejects.toThrow(WrongDatabaseError)
    await expect(opening).rejects.toThrow(
      /tables of another program; the database was not changed\. Set PAYMENTS_DATABASE_URL/,
    )
    expect(await inspect(url)).toBe('foreign')
    expect(await readState(url)).toEqual(before)
  })

  test('a database of a newer version is refused with the advice to update', async () => {
    await (await openStore({ url, system: realSystem })).close()
    await execute(url, 'update schemas set version = 9999')
    await expect(openStore({ url, system: realSystem })).rejects.toThrow(
      /: it was created by a newer payments-mcp\. Update payments-mcp\.$/,
    )
    expect(await inspect(url)).toBe('newer')
  })

  const otherPreReleases = [
    ['its schema digest', `update schemas set digest = 'another'`],
    [
      'its migrations',
      `drop table schemas; create table kysely_migration (name varchar(255), timestamp varchar(255));
       insert into kysely_migration values ('0001_first_schema', '2026-01-01'), ('0044_failed_effects', '2026-11-24')`,
    ],
  ] as const
  test.each(otherPreReleases)(
    'a database in which another pre-release recorded %s is refused with advice, and not changed',
    async (_, change) => {
      await (await openStore({ url, system: realSystem })).close()
      await execute(url, change)
      const before = await readState(url)
      const opening = openStore({ url, system: realSystem })
      await expect(opening).rejects.toThrow(OtherSchemaError)
      await expect(opening).rejects.toThrow(
        /: it was created by another pre-release of payments-mcp, which had other tables; the database was not changed\. Move it away/,
      )
      expect(await inspect(url)).toBe('other')
      expect(await readState(url)).toEqual(before)
    },
  )
})

test('a file of another program is refused and keeps its write-ahead log, its mode and its content', async () => {
  const { url, drop } = await sqlite.createEmpty()
  const path = url.slice(7)
  const other = new DatabaseSync(path)
  other.exec('pragma journal_mode = wal; create table notes (id integer); insert into notes values (1)')
  await expect(openStore({ url, system: realSystem })).rejects.toThrow(WrongDatabaseError)
  expect(other.prepare('select count(*) as count from notes').get()).toEqual({ count: 1 })
  other.close()
  const before = await readState(url)
  await expect(openStore({ url, system: realSystem })).rejects.toThrow(WrongDatabaseError)
  expect(await readState(url)).toEqual(before)
  writeFileSync(path, 'root:x:0:0:root:/root:/bin/sh\n')
  chmodSync(path, 0o644)
  await expect(openStore({ url, system: realSystem })).rejects.toThrow(/file is not a database/)
  expect(statSync(path).mode & 0o777).toBe(0o644)
  await drop()
})
