import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/service/store/open.ts'
import { StoreBusyError } from '../../src/service/store/store.ts'
import { realSystem } from '../../src/system.ts'
import { postgres } from '../support/databases.ts'
import { addWallet, times, walletIds } from './wallets.ts'

describe('the store on PostgreSQL', () => {
  test('gives a lock that another transaction holds to nobody else', async () => {
    const { store, drop } = await postgres.create()
    await store.transaction(async (tx) => {
      expect(await tx.tryLock('one')).toBe(true)
      expect(await tx.tryLock('one')).toBe(true)
      expect(await store.transaction((other) => other.tryLock('one'))).toBe(false)
      expect(await store.transaction((other) => other.tryLock('two'))).toBe(true)
    })
    expect(await store.transaction((tx) => tx.tryLock('one'))).toBe(true)
    await drop()
  })

  test('runs again when another request wrote the same idempotency key first', async () => {
    const { store, drop } = await postgres.create({ ...realSystem, sleep: async () => {} })
    const record = { partyId: 'pty_1', key: 'k', fingerprint: 'f', status: null, body: null, finishedAtMs: null }
    const found = await times(20, () =>
      store.transaction(async ({ db }) => {
        const row = await db.selectFrom('idempotencyRecords').selectAll().where('key', '=', 'k').executeTakeFirst()
        if (row !== undefined) return row.key
        await db
          .insertInto('idempotencyRecords')
          .values({ ...record, state: 'unresolved' })
          .execute()
        return 'written'
      }),
    )
    expect(found.filter((outcome) => outcome === 'written')).toHaveLength(1)
    await drop()
  })

  test('survives that the server ends its connections', async () => {
    const { store, url, drop } = await postgres.create()
    const outcome = store.transaction(async (tx) => {
      await addWallet(tx)
      await endOthers(url)
      await addWallet(tx, { id: 'wal_2' })
    })
    await expect(outcome).rejects.toThrow(StoreBusyError)
    expect(await walletIds(store)).toEqual([])
    await drop()
  })

  test.each(['postgres://user:hunter2@127.0.0.1:1/none?password=hunter2', 'postgres://user:hunter2@[oops/none'])(
    'tells of an unusable database in one line without its password',
    async (unusable) => {
      const error = await openStore({ url: unusable, system: realSystem }).catch((reason: Error) => reason)
      expect(error).toBeInstanceOf(Error)
      expect(String(error)).toMatch(/^Error: Cannot use the database postgres:.+: .+$/)
      expect(String(error)).not.toContain('hunter2')
    },
  )
})

/** Ends every connection to the database but its own. */
async function endOthers(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await client.end()
}
