import { expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { onEachDatabase } from '../support/databases.ts'

onEachDatabase('creating a database', (database) => {
  test('stores that open a new database at the same time create it only once, with one root key', async () => {
    const { url, drop } = await database.createEmpty()
    try {
      const stores = await Promise.all([1, 2, 3].map(() => openStore({ url, system: realSystem })))
      const keys = stores.map((store) => store.read(({ db }) => db.selectFrom('rootKeys').selectAll().execute()))
      for (const rows of await Promise.all(keys)) expect(rows).toHaveLength(1)
      for (const store of stores) await store.close()
    } finally {
      await drop()
    }
  })
})
