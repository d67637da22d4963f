import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { StaleWriteError, type Store, StoreBusyError, type Transaction } from '../../src/service/store/engine/store.ts'
import { insertWallet } from '../../src/service/store/wallets.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addWallet, times, wallet, walletIds } from './wallets.ts'

onEachDatabase('the store', ({ name, create, createEmpty }) => {
  let store: Store
  let url: string
  let drop: () => Promise<void>

  beforeEach(async () => {
    ;({ store, url, drop } = await create())
  })
  afterEach(() => drop())

  test('a transaction commits its writes and returns its result', async () => {
    const returned = await store.transaction(async (tx) => {
      await addWallet(tx, { availableCents: 2 ** 40 })
      return 'done'
    })
    expect(returned).toBe('done')
    const rows = await store.transaction((tx) => tx.db.selectFrom('wallets').selectAll().execute())
    expect(rows).toEqual([{ ...wallet, availableCents: 2 ** 40 }])
  })

  test('a transaction that throws is undone, and its caller gets the same error', async () => {
    const error = new Error('no')
    const work = store.transaction(async (tx) => {
      await addWallet(tx)
      throw error
    })
    await expect(work).rejects.toBe(error)
    expect(await walletIds(store)).toEqual([])
  })

  test('a transaction is undone if the database refuses one of its statements', async () => {
    const work = store.transaction(async (tx) => {
      await addWallet(tx, { id: 'wal_1' })
      await addWallet(tx, { id: 'wal_1' })
    })
    await expect(work).rejects.toThrow(/unique/i)
    expect(await walletIds(store)).toEqual([])
  })

  test('a balance below zero is refused', async () => {
    const work = store.transaction((tx) => addWallet(tx, { availableCents: -1 }))
    await expect(work).rejects.toThrow('wallets_below_zero_by_returns')
  })

  test('the sandbox clock of a new database shows the real time', async () => {
    const rows = await store.transaction((tx) => tx.db.selectFrom('clock').selectAll().execute())
    expect(rows).toEqual([
      { id: 1, offsetMs: 0, highestMs: 0, epoch: 1, faultRules: 0, staleRules: 0, settingsRevision: 0 },
    ])
  })

  test('a savepoint that throws is undone, but nothing before or after it is', async () => {
    await store.transaction(async (tx) => {
      await addWallet(tx, { id: 'wal_1' })
      const failed = tx.savepoint(async () => {
        await addWallet(tx, { id: 'wal_2' })
        await addWallet(tx, { id: 'wal_2' })
      })
      await expect(failed).rejects.toThrow(/unique/i)
      await addWallet(tx, { id: 'wal_3' })
    })
    expect(await walletIds(store)).toEqual(['wal_1', 'wal_3'])
  })

  test('savepoints can be nested, and one that throws also undoes the savepoints inside it', async () => {
    await store.transaction(async (tx) => {
      await tx.savepoint(() => addWallet(tx, { id: 'wal_1' }))
      await tx.savepoint(async () => {
        await addWallet(tx, { id: 'wal_2' })
        const inner = tx.savepoint(async () => {
          await addWallet(tx, { id: 'wal_3' })
          throw new Error('inner')
        })
        await expect(inner).rejects.toThrow('inner')
      })
      const outer = tx.savepoint(async () => {
        await tx.savepoint(() => addWallet(tx, { id: 'wal_4' }))
        throw new Error('outer')
      })
      await expect(outer).rejects.toThrow('outer')
    })
    expect(await walletIds(store)).toEqual(['wal_1', 'wal_2'])
  })

  test('of many simultaneous transactions, only those that throw are undone', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) =>
        store.transaction(async (tx) => {
          await addWallet(tx, { id: `wal_${String(index).padStart(2, '0')}` })
          if (index % 3 === 0) throw new Error(`no ${index}`)
        }),
      ),
    )
    const succeeded = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []))
    expect(succeeded).toEqual(Array.from({ length: 100 }, (_, index) => index).filter((index) => index % 3 !== 0))
    expect(await walletIds(store)).toEqual(succeeded.map((index) => `wal_${String(index).padStart(2, '0')}`))
  })

  test('of several simultaneous transactions, only those whose last write fails are undone', async () => {
    const insertTwice = (id: string) => async (tx: Transaction) => {
      await insertWallet(tx, { ...wallet, id })
      await insertWallet(tx, { ...wallet, id })
    }
    const insertOnce = (id: string) => (tx: Transaction) => insertWallet(tx, { ...wallet, id })
    const works = [insertOnce('wal_1'), insertTwice('wal_2'), insertOnce('wal_3'), insertTwice('wal_4')]
    const outcomes = await Promise.allSettled(works.map((work) => store.transaction(work)))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
    expect(await walletIds(store)).toEqual(['wal_1', 'wal_3'])
  })

  test('a transaction that throws a StaleWriteError is undone and runs again', async () => {
    let attempts = 0
    await store.transaction(async (tx) => {
      await addWallet(tx)
      attempts += 1
      if (attempts < 3) throw new StaleWriteError('wallet wal_1')
    })
    expect(attempts).toBe(3)
    expect(await walletIds(store)).toEqual(['wal_1'])
  })

  test('a transaction that always throws a StaleWriteError fails after 20 attempts', async () => {
    const { store: patient, drop: dropPatient } = await create({ ...realSystem, sleep: async () => {} })
    let attempts = 0
    const work = patient.transaction(async (tx) => {
      attempts += 1
      await addWallet(tx)
      throw new StaleWriteError('wallet wal_1')
    })
    await expect(work).rejects.toThrow(StoreBusyError)
    expect(attempts).toBe(20)
    expect(await walletIds(patient)).toEqual([])
    await dropPatient()
  })

  test('no accepted change is lost when 200 simultaneous transactions change one wallet', async () => {
    await store.transaction((tx) => addWallet(tx))
    const done = await countAccepted(times(200, () => isAccepted(store.transaction(addCent))))
    expect(await availableCents(store)).toBe(done)
  })

  test('no accepted change is lost when two stores change one wallet simultaneously', async () => {
    const other = await openStore({ url, system: realSystem })
    await store.transaction((tx) => addWallet(tx))
    const done = await countAccepted(
      times(200, (index) => isAccepted((index % 2 === 0 ? store : other).transaction(addCent))),
    )
    await other.close()
    expect(await availableCents(store)).toBe(done)
  })

  test('only one of several simultaneous transactions holds a lock at a time', async () => {
    let holders = 0
    let maxAtOnce = 0
    await times(20, () =>
      store.transaction(async (tx) => {
        await tx.lock('one')
        holders += 1
        maxAtOnce = Math.max(maxAtOnce, holders)
        await sql`select 1`.execute(tx.db)
        holders -= 1
      }),
    )
    expect(maxAtOnce).toBe(1)
  })

  test('a store that is being closed finishes its running transactions and refuses new ones', async () => {
    const writes = times(100, (index) => store.transaction((tx) => addWallet(tx, { id: `wal_${index}` })))
    const closed = store.close()
    await expect(store.transaction(addWallet)).rejects.toThrow(StoreBusyError)
    await Promise.all([writes, closed])
    const other = await openStore({ url, system: realSystem })
    expect(await walletIds(other)).toHaveLength(100)
    await other.close()
  })

  test('several stores can create the schema of a new database simultaneously', async () => {
    const empty = await createEmpty()
    const stores = await times(4, () => openStore({ url: empty.url, system: realSystem }))
    await times(4, async (index) => stores[index]?.transaction((tx) => addWallet(tx, { id: `wal_${index}` })))
    for (const opened of stores) {
      expect(await walletIds(opened)).toHaveLength(4)
      await opened.close()
    }
    await empty.drop()
  })

  test('a transaction whose commit fails has no effect', async () => {
    await store.transaction(async ({ db }) => {
      await sql`create table parent (id integer primary key)`.execute(db)
      await sql`create table child (id integer references parent deferrable initially deferred)`.execute(db)
    })
    const orphan = store.transaction(async (tx) => {
      await addWallet(tx)
      await sql`insert into child values (1)`.execute(tx.db)
    })
    // SQLite commits transactions in groups, and refuses the whole group if its commit fails. PostgreSQL commits this
    // transaction alone, so the error names the violated constraint.
    await expect(orphan).rejects.toThrow(name === 'sqlite' ? StoreBusyError : /foreign key/)
    expect(await walletIds(store)).toEqual([])
  })
})

/** Returns whether the change was made. On a busy machine, some changes are refused because they waited too long. */
async function isAccepted(change: Promise<unknown>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    if (error instanceof StoreBusyError) return false
    throw error
  }
}

/** Returns the number of accepted changes, and checks that there is at least one. */
async function countAccepted(changes: Promise<boolean[]>): Promise<number> {
  const done = (await changes).filter((isDone) => isDone).length
  expect(done).toBeGreaterThan(0)
  return done
}

async function availableCents(store: Store): Promise<number> {
  const row = await store.transaction((tx) =>
    tx.db.selectFrom('wallets').select('availableCents').where('id', '=', 'wal_1').executeTakeFirstOrThrow(),
  )
  return row.availableCents
}

/** Adds a cent to the wallet by compare-and-set, as the service does. */
async function addCent(tx: Transaction): Promise<void> {
  const { availableCents, version } = await tx.db
    .selectFrom('wallets')
    .selectAll()
    .where('id', '=', 'wal_1')
    .executeTakeFirstOrThrow()
  const { numUpdatedRows } = await tx.db
    .updateTable('wallets')
    .set({ availableCents: availableCents + 1, version: version + 1 })
    .where('id', '=', 'wal_1')
    .where('version', '=', version)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new StaleWriteError('wallet wal_1')
}
