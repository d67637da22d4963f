import { afterEach, expect, test } from 'vitest'
import { createService } from '../../src/service/service.ts'
import { type Store, StoreBusyError } from '../../src/service/store/engine/store.ts'
import { readAllTables } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { secrets } from '../support/world.ts'

onEachDatabase('entries of runs during database failures', (database) => {
  let close = async () => {}
  afterEach(() => close())

  /** Starts a service. While `failure.error` is set, the service's attempts to write entries fail with that error. */
  async function startService() {
    const system = fakeSystem()
    const { store, drop } = await database.create(system)
    close = drop
    const failure: { error: Error | undefined; attempts: number } = { error: undefined, attempts: 0 }
    const failing: Store = {
      ...store,
      dialect: store.dialect,
      clock: store.clock,
      transaction: (work, options) => {
        if (failure.error === undefined || options?.kind !== 'keep runs') return store.transaction(work, options)
        failure.attempts++
        return Promise.reject(failure.error)
      },
      aside: (work) => store.aside(work),
      read: (work) => store.read(work),
      close: () => store.close(),
    }
    const warnings: string[] = []
    const log = { debug() {}, info() {}, warn: (_: object, text: string) => void warnings.push(text), error() {} }
    const dependencies = { store: failing, system, environment: 'sandbox', rateLimit: 1_000_000, log } as const
    const service = createService(dependencies)
    const { agentKey } = await service.seed(secrets)
    const call = async (instanceId: string) => {
      const headers = { Authorization: `Bearer ${agentKey}`, 'X-Instance-ID': instanceId }
      expect((await service.fetch(new Request('http://sandbox.test/whoami', { headers }))).status).toBe(200)
    }
    const storedEntries = async () => (await readAllTables(store)).get('runEntries')?.map(({ operation }) => operation)
    const calls = async () => (await readAllTables(store)).get('runs')?.map((run) => Number(run.calls))
    return { service, call, storedEntries, calls, failure, warnings }
  }

  test('entries that wait for a busy database are written exactly once when it is free again', async () => {
    const { service, call, storedEntries, calls, failure, warnings } = await startService()
    failure.error = new StoreBusyError('busy')
    for (let count = 0; count < 300; count++) await call('waiting')
    await service.runLog.flush()
    expect(await storedEntries()).toEqual([])
    failure.error = undefined
    await call('waiting')
    await service.runLog.flush()
    expect(await storedEntries()).toHaveLength(301)
    expect(await calls()).toEqual([301])
    await service.runLog.flush()
    expect(await calls()).toEqual([301])
    expect(warnings).toEqual([])
  })

  test('entries that cannot be written are dropped with a warning, and later entries are stored', async () => {
    const { service, call, storedEntries, failure, warnings } = await startService()
    failure.error = new Error('the disk is broken')
    await call('lost')
    await service.runLog.flush()
    failure.error = undefined
    await call('kept')
    await service.runLog.flush()
    expect(await storedEntries()).toHaveLength(1)
    expect(warnings).toEqual(['run entries were lost'])
  })

  test('only the entries that the database refuses are lost, wherever they are in a batch', async () => {
    const { service, call, storedEntries, calls, warnings } = await startService()
    const entry = { partyId: 'pty_1', agentId: null, instanceId: 'bad', outcome: 'asked' } as const
    for (let count = 0; count < 200; count++) {
      await call('good')
      // The database refuses an entry without a kind.
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
    expect(warnings).toEqual(Array.from({ length: 3 }, () => 'run entries were lost'))
  })

  test('if the database refuses every entry, the service does not retry each entry individually', async () => {
    const { service, call, storedEntries, failure } = await startService()
    failure.error = new Error('the disk is broken')
    // The entries are added without a pause, so that they are written in one batch.
    const entry = { partyId: 'pty_1', agentId: null, instanceId: 'lost', operation: 'pay', outcome: 'asked' } as const
    for (let count = 0; count < 250; count++) service.reportEntry({ ...entry, kind: 'question' })
    await service.runLog.flush()
    expect(failure.attempts).toBeLessThan(50)
    failure.error = undefined
    await call('kept')
    await service.runLog.flush()
    expect(await storedEntries()).toHaveLength(1)
  })

  test('entries are dropped with a warning if the database stays busy, so that memory is bounded', async () => {
    const { service, call, storedEntries, failure, warnings } = await startService()
    failure.error = new StoreBusyError('busy')
    await call('given up')
    for (let count = 0; count < 40; count++) await service.runLog.flush()
    expect(warnings).toEqual(['run entries were lost'])
    failure.error = undefined
    await service.runLog.flush()
    expect(await storedEntries()).toEqual([])
  })
})
