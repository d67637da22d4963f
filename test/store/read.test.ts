import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Store, StoreBusyError } from '../../src/service/store/engine/store.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addWallet, walletIds } from './wallets.ts'

onEachDatabase('reading from the store', ({ name, create }) => {
  let store: Store
  let drop: () => Promise<void>
  beforeEach(async () => {
    ;({ store, drop } = await create())
  })
  afterEach(() => drop())

  const ids = () => store.read(({ db }) => db.selectFrom('wallets').select('id').execute())

  test('a read sees only committed data, and does not wait for a writer', async () => {
    expect(await ids()).toEqual([])
    const [written, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const writing = store.transaction(async (tx) => {
      await addWallet(tx)
      written.resolve()
      await go.promise
    })
    await written.promise
    expect(await ids()).toEqual([])
    go.resolve()
    await writing
    expect(await ids()).toHaveLength(1)
  })

  test.runIf(name === 'sqlite')('a read cannot write', async () => {
    await expect(store.read(addWallet)).rejects.toThrow(/read-only/)
    expect(await walletIds(store)).toEqual([])
    // The store replaced the connection of the failed read, so the next read succeeds.
    expect(await ids()).toEqual([])
  })

  test('reads are refused once the store is closed', async () => {
    await store.close()
    await expect(ids()).rejects.toBeInstanceOf(StoreBusyError)
  })
})
