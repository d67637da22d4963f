import { afterEach, expect, test } from 'vitest'
import { createService } from '../../src/service/service.ts'
import { type Store, StoreBusyError } from '../../src/service/store/engine/store.ts'
import { readAllTables } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { secrets } from '../support/world.ts'

onEachDatabase('entries while the database is busy', (database) => {
  let close = async () => {}
  afterEach(() => close())

  /** Starts a service that fails to write entries while an error is set. */
  async function startService() {
    const system = fakeSystem()
    const { store, drop } = await database.create(system)
    close = drop
    const meets: { error: Error | undefined; times: number } = { error: undefined, times: 0 }
    const failing: Store = {
      ...store,
      dialect: store.dialect,
      clock: store.clock,
      transaction: (work, options) => {
        if (meets.error === undefined || options?.kind !== 'keep runs') return store.transaction(work, options)
        meets.times++
        return Promise.reject(meets.error)
      },
      aside: (work) => store.aside(work),
      read: (work) => store.read(work),
      close: () => store.close(),
    }
    const warned: string[] = []
    const log = { debug() {}, info() {}, warn: (_: object, text: string) => void warned.push(text), error() {} }
    const grounds = { store: failing, system, environment: 'sandbox', rateLimit: 1_000_000, log } as const
    const service = createService(grounds)
    const { agentKey } = await service.seed(secrets)
    const call = async (instanceId: string) => {
      const headers = { Authorization: `Bearer ${agentKey}`, 'X-Instance-ID': instanceId }
      expect((await service.fetch(new Request('http://sandbox.test/whoami', { headers }))).status).toBe(200)
    }
    const storedEntries = async () => (await readAllTables(store)).get('runEntries')?.map(({ operation }) => operation)
    const calls = async () => (await readAllTables(store)).get('runs')?.map((run) => Number(run.calls))
    return { service, call, storedEntries, calls, meets, warned }
  }

  test('are written once it is free, each once and in order', async () => {
    const { service, call, storedEntries, calls, meets, warned } = await startService()
    meets.error = new StoreBusyError('busy')
    for (let count = 0; count < 300; count++) await call('waiting')
    await service.runLog.flush()
    expect(await storedEntries()).toEqual([])
    meets.error = undefined
    await call('waiting')
    await service.runLog.flush()
    expect(await storedEntries()).toHaveLength(301)
    expect(await calls()).toEqual([301])
    await service.runLog.flush()
    expect(await calls()).toEqual([301])
    expect(warned).toEqual([])
  })

  test('unwritable entries are dropped and logged, and the next ones are stored', async () => {
    const { service, call, storedEntries, meets, warned } = await startService()
    meets.error = new Error('the disk is strange')
    await call('lost')
    await service.runLog.flush()
    meets.error = undefined
    await call('kept')
    await service.runLog.flush()
    expect(await storedEntries()).toHaveLength(1)
    expect(warned).toEqual(['run entries were lost'])
  })

  test('an entry that the database refuses is lost alone, wherever it is among others', async () => {
    const { service, call, storedEntries, calls, warned } = await startService()
    const entry = { partyId: 'pty_1', agentId: null, instanceId: 'bad', outcome: 'asked' } as const
    for (let count = 0; count < 200; count++) {
      await call('good')
      // An entry without a kind is invalid.
      if (count === 0 || count === 70 || count === 199) {
        service.reportEntry({ ...entry, operation: `bad ${count}`, kind: null as never })
        service.reportEntry({ ...entry, operation: `good ${count}`, kind: 'question' })
      }
    }
    await service.runLog.flush()
    const operations = (await storedEntries()) ?? []
    expect(operations.filter((name) => name === 'whoami')).toHaveLength(200)
    expect(operations.filter((name) => name !== 'whoami').sort()).toEqual(['good 0', 'good 199', 'good 70'])
    expect((await calls())?.sort()).toEqual([0, 200])
    expect(warned).toEqual(Array.from({ length: 3 }, () => 'run entries were lost'))
  })

  test('a database that refuses every entry is not tried again for each', async () => {
    const { service, call, storedEntries, meets } = await startService()
    meets.error = new Error('the disk is strange')
    // These are added at the same time, so that they are written together.
    const entry = { partyId: 'pty_1', agentId: null, instanceId: 'lost', operation: 'pay', outcome: 'asked' } as const
    for (let count = 0; count < 250; count++) service.reportEntry({ ...entry, kind: 'question' })
    await service.runLog.flush()
    expect(meets.times).toBeLessThan(50)
    meets.error = undefined
    await call('kept')
    await service.runLog.flush()
    expect(await storedEntries()).toHaveLength(1)
  })

  test('a database that stays busy is given up in the end, so that the memory is bounded', async () => {
    const { service, call, storedEntries, meets, warned } = await startService()
    meets.error = new StoreBusyError('busy')
    await call('given up')
    for (let count = 0; count < 40; count++) await service.runLog.flush()
    expect(warned).toEqual(['run entries were lost'])
    meets.error = undefined
    await service.runLog.flush()
    expect(await storedEntries()).toEqual([])
  })
})
