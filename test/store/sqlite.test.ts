import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { type Store, StoreBusyError, type Transaction } from '../../src/service/store/engine/store.ts'
import { sqlite } from '../support/databases.ts'
import { addWallet, walletIds } from './wallets.ts'

describe('the store on SQLite', () => {
  let store: Store
  let url: string
  let drop: () => Promise<void>

  beforeEach(async () => {
    ;({ store, url, drop } = await sqlite.create())
  })
  afterEach(() => drop())

  test('if the commit of a group of transactions fails, all fail with StoreBusyError, even one that threw another error', async () => {
    await store.transaction(async ({ db }) => {
      await sql`create table parent (id integer primary key)`.execute(db)
      await sql`create table child (id integer references parent deferrable initially deferred)`.execute(db)
    })
    const outcomes = await Promise.allSettled([
      store.transaction((tx) => addWallet(tx)),
      store.transaction((tx) => sql`insert into child values (1)`.execute(tx.db)),
      store.transaction(async () => {
        throw new Error('depends on other writes of the group')
      }),
    ])
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { name: 'StoreBusyError' } })
    expect(await walletIds(store)).toEqual([])
    await store.transaction((tx) => addWallet(tx))
    expect(await walletIds(store)).toEqual(['wal_1'])
  })

  test('if the disk is full, a whole group of transactions fails, even if one of them caught the error', async () => {
    const limitPages = (count: number) =>
      store.transaction((tx) => sql`pragma max_page_count = ${sql.lit(count)}`.execute(tx.db))
    const fill = async (tx: Transaction) => addWallet(tx, { id: 'wal_2', tags: 'x'.repeat(1_000_000) })
    await limitPages(1)
    const outcomes = await Promise.allSettled([
      store.transaction((tx) => addWallet(tx)),
      store.transaction(async (tx) => {
        await expect(tx.savepoint(() => fill(tx))).rejects.toThrow(StoreBusyError)
        await expect(addWallet(tx, { id: 'wal_3' })).rejects.toThrow(StoreBusyError)
      }),
      store.transaction(fill),
    ])
    for (const outcome of outcomes.slice(0, 2)) expect(outcome).toMatchObject({ reason: { name: 'StoreBusyError' } })
    expect(await walletIds(store)).toEqual([])
    await limitPages(1_000_000)
    await store.transaction(fill)
    expect(await walletIds(store)).toEqual(['wal_2'])
  })

  test('a transaction waits while another process holds the lock', async () => {
    const other = new DatabaseSync(pathOf(url))
    const waiting = await openStore({ url, system: { ...realSystem, sleep: async () => other.exec('commit') } })
    other.exec('begin immediate')
    await waiting.transaction((tx) => addWallet(tx))
    expect(await walletIds(waiting)).toEqual(['wal_1'])
    await waiting.close()
    other.close()
  })

  test('a transaction fails with StoreBusyError if another process does not release the lock', async () => {
    const other = new DatabaseSync(pathOf(url))
    const waiting = await openStore({ url, system: { ...realSystem, sleep: async () => {} } })
    other.exec('begin immediate')
    await expect(waiting.transaction((tx) => addWallet(tx))).rejects.toThrow(StoreBusyError)
    other.exec('commit')
    await waiting.transaction((tx) => addWallet(tx))
    await waiting.close()
    other.close()
  })

  test('other users have no access to the database files', async () => {
    await store.transaction((tx) => addWallet(tx))
    for (const suffix of ['', '-wal', '-shm']) {
      expect((statSync(pathOf(url) + suffix).mode & 0o777).toString(8)).toBe('600')
    }
  })

  test("opening a database removes other users' access to its existing files", async () => {
    await store.transaction((tx) => addWallet(tx))
    const files = ['', '-wal', '-shm'].map((suffix) => pathOf(url) + suffix)
    for (const file of files) chmodSync(file, 0o644)
    const other = await openStore({ url, system: realSystem })
    for (const file of files) expect((statSync(file).mode & 0o777).toString(8), file).toBe('600')
    expect(await walletIds(other)).toContain('wal_1')
    await other.close()
  })

  test('an in-memory database is empty when it is opened again', async () => {
    const first = await openStore({ url: 'sqlite::memory:', system: realSystem })
    await first.transaction((tx) => addWallet(tx))
    expect(await walletIds(first)).toEqual(['wal_1'])
    await first.close()
    const second = await openStore({ url: 'sqlite::memory:', system: realSystem })
    expect(await walletIds(second)).toEqual([])
    await second.close()
  })

  test('a file that is not a database is refused', async () => {
    writeFileSync(`${pathOf(url)}.txt`, 'not a database '.repeat(1_000))
    const open = openStore({ url: `${url}.txt`, system: realSystem })
    await expect(open).rejects.toThrow(`Cannot use the database ${url}.txt: file is not a database`)
  })
})

function pathOf(url: string): string {
  return url.slice('sqlite:'.length)
}
