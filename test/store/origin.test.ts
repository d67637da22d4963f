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
 * Returns everything in a program's own database that must not change: the file, its mode and its neighbors, or
 * the tables of the schemas.
 */
async function readTraces(url: string): Promise<unknown> {
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

onEachDatabase('a database', (database) => {
  let url: string
  let drop: () => Promise<void>
  beforeEach(async () => {
    const empty = await database.createEmpty()
    url = empty.url
    drop = empty.drop
  })
  afterEach(() => drop())

  const others = [
    ['with a table of our own name', 'create table payments (id integer primary key, note text)'],
    [
      'that Kysely migrates too',
      `create table kysely_migration (name varchar(255), timestamp varchar(255)); create table clock (id integer);
       insert into kysely_migration values ('0001_users', '2026-01-01')`,
    ],
  ] as const
  test.each(others)('of another program %s is refused and stays as it is', async (_, statements) => {
    await execute(url, statements)
    if (url.startsWith('sqlite:')) chmodSync(url.slice(7), 0o644)
    const before = await readTraces(url)
    const opening = openStore({ url, system: realSystem })
    await expect(opening).rejects.toThrow(WrongDatabaseError)
    await expect(opening).rejects.toThrow(/tables of another program, and was not changed\. Set PAYMENTS_DATABASE_URL/)
    expect(await inspect(url)).toBe('foreign')
    expect(await readTraces(url)).toEqual(before)
  })

  test('of a newer version is refused with advice', async () => {
    await (await openStore({ url, system: realSystem })).close()
    await execute(url, 'update schemas set version = 9999')
    await expect(openStore({ url, system: realSystem })).rejects.toThrow(
      /: it was created by a newer payments-mcp\. Update payments-mcp\.$/,
    )
    expect(await inspect(url)).toBe('newer')
  })

  const otherPreReleases = [
    ['with a digest', `update schemas set digest = 'another'`],
    [
      'with migrations',
      `drop table schemas; create table kysely_migration (name varchar(255), timestamp varchar(255));
       insert into kysely_migration values ('0001_first_schema', '2026-01-01'), ('0044_failed_effects', '2026-11-24')`,
    ],
  ] as const
  test.each(otherPreReleases)(
    'of another pre-release %s is refused with advice, and stays as it is',
    async (_, change) => {
      await (await openStore({ url, system: realSystem })).close()
      await execute(url, change)
      const before = await readTraces(url)
      const opening = openStore({ url, system: realSystem })
      await expect(opening).rejects.toThrow(OtherSchemaError)
      await expect(opening).rejects.toThrow(
        /: it was created by another pre-release of payments-mcp with other tables, and was not changed\. Move it away/,
      )
      expect(await inspect(url)).toBe('other')
      expect(await readTraces(url)).toEqual(before)
    },
  )
})

test('a file of another program keeps its log, its mode and its content', async () => {
  const { url, drop } = await sqlite.createEmpty()
  const path = url.slice(7)
  const other = new DatabaseSync(path)
  other.exec('pragma journal_mode = wal; create table notes (id integer); insert into notes values (1)')
  await expect(openStore({ url, system: realSystem })).rejects.toThrow(WrongDatabaseError)
  expect(other.prepare('select count(*) as count from notes').get()).toEqual({ count: 1 })
  other.close()
  const before = await readTraces(url)
  await expect(openStore({ url, system: realSystem })).rejects.toThrow(WrongDatabaseError)
  expect(await readTraces(url)).toEqual(before)
  writeFileSync(path, 'root:x:0:0:root:/root:/bin/sh\n')
  chmodSync(path, 0o644)
  await expect(openStore({ url, system: realSystem })).rejects.toThrow(/file is not a database/)
  expect(statSync(path).mode & 0o777).toBe(0o644)
  await drop()
})
