import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { StoreBusyError } from '../../src/service/store/engine/store.ts'
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

  test('who waits for its turn does so without a connection, and goes on with what it had', async () => {
    const { store, drop } = await postgres.create()
    const [taken, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = store.transaction(async (tx) => {
      await tx.takeTurn('one')
      taken.resolve()
      await end.promise
    })
    await taken.promise
    const begun: number[] = []
    // More than there are connections.
    const waiting = times(30, (index) =>
      store.transaction(async (tx) => {
        expect(await tx.tryLock(`key ${index}`)).toBe(true)
        begun.push(index)
        await tx.takeTurn('one')
        await addWallet(tx, { id: `wal_${index}` })
      }),
    )
    await expect.poll(() => begun.length).toBe(30)
    for (const index of begun) expect(await store.transaction((tx) => tx.tryLock(`key ${index}`))).toBe(false)
    expect(await walletIds(store)).toEqual([])
    end.resolve()
    await first
    await waiting
    expect(begun).toHaveLength(60)
    expect(await walletIds(store)).toHaveLength(30)
    expect(await store.transaction((tx) => tx.tryLock('key 1'))).toBe(true)
    await drop()
  })

  test('those that want two turns, each in its own order, all come to an end', async () => {
    const { store, drop } = await postgres.create()
    await times(40, (index) =>
      store.transaction(async (tx) => {
        const names = index % 2 === 0 ? ['one', 'two'] : ['two', 'one']
        for (const name of names) await tx.takeTurn(name)
        await addWallet(tx, { id: `wal_${index}` })
      }),
    )
    expect(await walletIds(store)).toHaveLength(40)
    await drop()
  })

  test('a database that falls silent is asked by a few, and all that wait are told with them', async () => {
    const { store: direct, url, drop } = await postgres.create()
    const line = await openLine(url)
    const store = await openStore({ url: line.url, system: realSystem })
    await store.transaction(addWallet)
    line.fallSilent()
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => store.transaction(addWallet)))
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: expect.any(StoreBusyError) })
    expect(line.attempts()).toBeLessThan(20)
    await store.close()
    await line.close()
    expect(await walletIds(direct)).toEqual(['wal_1'])
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

/** What stands between a store and its database, and can stop to answer. */
async function openLine(url: string) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let attempts = 0
  let silent = false
  const server = createServer((near) => {
    sockets.add(near)
    near.on('error', () => {})
    if (silent) {
      attempts += 1
      return
    }
    const far = connect(Number(port), hostname)
    sockets.add(far)
    far.on('error', () => {})
    near.pipe(far).pipe(near)
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.port = String((server.address() as AddressInfo).port)
  return {
    url: through.href,
    attempts: () => attempts,
    /** Ends what is connected; whoever connects waits from then on. */
    fallSilent: () => {
      silent = true
      cut()
    },
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
