import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { StaleWriteError, StoreBusyError } from '../../src/service/store/engine/store.ts'
import { insertWallet, listWallets } from '../../src/service/store/wallets.ts'
import { postgres } from '../support/databases.ts'
import { recordStatements } from '../support/statements.ts'
import { addParties, addWallet, times, wallet, walletIds } from './wallets.ts'

describe('the store on PostgreSQL', () => {
  test.each(['wallet wal_1', 'party invitation pin_1'])(
    'after a stale write of the row %s, a transaction locks the name of the row before it runs again',
    async (rowLabel) => {
      const { store, drop } = await postgres.create({ ...realSystem, sleep: async () => {} })
      const statements = recordStatements()
      try {
        let attempts = 0
        await store.transaction(async (tx) => {
          tx.runAlone()
          await addWallet(tx)
          attempts += 1
          if (attempts === 1) throw new StaleWriteError(rowLabel)
        })
        expect(statements.texts.filter((text) => text.startsWith('insert into locks'))).toHaveLength(1)
      } finally {
        statements.stop()
        await drop()
      }
    },
  )

  test('a transaction cannot claim a name that another transaction of the same process holds', async () => {
    const { store, drop } = await postgres.create()
    await store.transaction(async (tx) => {
      expect(tx.claim('one')).toBe(true)
      expect(tx.claim('one')).toBe(true)
      expect(await store.transaction(async (other) => other.claim('one'))).toBe(false)
      expect(await store.transaction(async (other) => other.claim('two'))).toBe(true)
    })
    expect(await store.transaction(async (tx) => tx.claim('one'))).toBe(true)
    await drop()
  })

  test('a transaction runs again if another one wrote the same idempotency key first', async () => {
    const { store, drop } = await postgres.create({ ...realSystem, sleep: async () => {} })
    const record = { partyId: 'pty_1', key: 'k', fingerprint: 'f', status: null, finishedAtMs: null }
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

  test('a transaction whose connection is lost is undone, and the store continues with new connections', async () => {
    const { store, url, drop } = await postgres.create()
    const outcome = store.transaction(async (tx) => {
      await addWallet(tx)
      await endOtherConnections(url)
      await addWallet(tx, { id: 'wal_2' })
    })
    await expect(outcome).rejects.toThrow(StoreBusyError)
    expect(await walletIds(store)).toEqual([])
    await drop()
  })

  test('a transaction that waits for the lock of a party occupies no connection', async () => {
    const { store, drop } = await postgres.create()
    await addParties(store, ['pty_1'])
    const [taken, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = store.transaction(async (tx) => {
      await tx.lockParty('pty_1')
      taken.resolve()
      await end.promise
    })
    await taken.promise
    // There are more transactions than connections. Half of the transactions may share a database transaction.
    const waiting = times(60, (index) =>
      store.transaction(
        async (tx) => {
          await tx.lockParty('pty_1')
          await insertWallet(tx, { ...wallet, id: `wal_${index}` })
        },
        index % 2 === 0 ? { partyId: 'pty_1', kind: 'test' } : {},
      ),
    )
    expect(await walletIds(store)).toEqual([])
    end.resolve()
    await first
    await waiting
    expect(await walletIds(store)).toHaveLength(60)
    await drop()
  })

  test('if some of the changes that share a database transaction fail, the others still succeed', async () => {
    const { store, drop } = await postgres.create()
    const parties = Array.from({ length: 20 }, (_, index) => `pty_${index}`)
    await addParties(store, parties)
    const outcomes = await Promise.allSettled(
      parties.map((partyId, index) =>
        store.transaction(
          async (tx) => {
            await tx.lockParty(partyId)
            if (index % 5 === 1) throw new Error('refused')
            await insertWallet(tx, { ...wallet, id: `wal_${index}`, partyId, availableCents: index % 5 === 2 ? -1 : 0 })
          },
          { partyId, kind: 'test' },
        ),
      ),
    )
    for (const [index, outcome] of outcomes.entries()) {
      if (index % 5 === 1) expect(outcome).toMatchObject({ reason: { message: 'refused' } })
      else if (index % 5 === 2)
        expect(String(outcome.status === 'rejected' && outcome.reason)).toMatch(/below_zero_by_returns/)
      else expect(outcome.status).toBe('fulfilled')
    }
    expect(await walletIds(store)).toHaveLength(12)
    await drop()
  })

  test('each change to a party sees the writes of earlier changes, even in a shared database transaction', async () => {
    const { store, drop } = await postgres.create()
    await addParties(store, ['pty_1'])
    const seen = await times(50, (index) =>
      store.transaction(
        async (tx) => {
          await tx.lockParty('pty_1')
          const { rows } = await listWallets(tx, 'pty_1', { limit: 100, beforeId: null })
          await insertWallet(tx, { ...wallet, id: `wal_${String(index).padStart(2, '0')}` })
          return rows.length
        },
        { partyId: 'pty_1', kind: 'test' },
      ),
    )
    expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index))
    await drop()
  })

  test('a transaction whose party cannot be locked fails, and the process continues', async () => {
    const { store, drop } = await postgres.create()
    await store.transaction(({ db }) => db.schema.alterTable('parties').renameTo('gone').execute())
    const reading = async () => {
      // Locking the party fails during these reads, while nothing is waiting for the lock.
      for (let count = 0; count < 5; count++) await store.read(({ db }) => db.selectFrom('clock').selectAll().execute())
    }
    await expect(store.transaction(reading, { partyId: 'pty_1', kind: 'test' })).rejects.toThrow(/"?parties"? does not/)
    await drop()
  })

  test('a transaction that reads after it has written runs alone, so its failure undoes no other transaction', async () => {
    const { store, drop } = await postgres.create()
    const parties = Array.from({ length: 10 }, (_, index) => `pty_${index}`)
    await addParties(store, parties)
    const outcomes = await Promise.allSettled(
      parties.map((partyId, index) =>
        store.transaction(
          async (tx) => {
            await tx.lockParty(partyId)
            await insertWallet(tx, { ...wallet, id: `wal_${index}`, partyId })
            const { rows } = await listWallets(tx, partyId, { limit: 100, beforeId: null })
            if (index % 2 === 0) throw new Error(`failed after reading ${rows.length} wallets`)
          },
          { partyId, kind: index < 5 ? 'first kind' : 'second kind' },
        ),
      ),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(await walletIds(store)).toEqual(['wal_1', 'wal_3', 'wal_5', 'wal_7', 'wal_9'])
    await drop()
  })

  test('a database that stops answering gets few connection attempts, and all waiting transactions fail', async () => {
    const { store: direct, url, drop } = await postgres.create()
    const proxy = await startProxy(url)
    const store = await openStore({ url: proxy.url, system: realSystem })
    await store.transaction(addWallet)
    proxy.fallSilent()
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => store.transaction(addWallet)))
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: expect.any(StoreBusyError) })
    expect(proxy.attempts()).toBeLessThan(20)
    await store.close()
    await proxy.close()
    expect(await walletIds(direct)).toEqual(['wal_1'])
    await drop()
  })

  test.each(['postgres://user:hunter2@127.0.0.1:1/none?password=hunter2', 'postgres://user:hunter2@[oops/none'])(
    'an unusable database is reported in one line without its password',
    async (unusable) => {
      const error = await openStore({ url: unusable, system: realSystem }).catch((reason: Error) => reason)
      expect(error).toBeInstanceOf(Error)
      expect(String(error)).toMatch(/^Error: Cannot use the database postgres:.+: .+$/)
      expect(String(error)).not.toContain('hunter2')
    },
  )
})

/** Ends every other connection to the database. */
async function endOtherConnections(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await client.end()
}

/** Starts a proxy between a store and its database. The proxy can stop answering. */
async function startProxy(url: string) {
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
    /** Cuts all connections. From then on, new connections get no answer. */
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
