import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

onEachDatabase('the upkeep', (database) => {
  test('continues with the other steps if one fails', async () => {
    const world = await createWorld(database, { keepsRuns: false })
    await world.authorize(await world.issueCard(), 100)
    const run = (statement: string) => world.store.transaction(({ db }) => sql.raw(statement).execute(db))
    // Two steps fail: deleting old card pages, and writing the last use of a key.
    await run('alter table "cardPages" rename to "pagesGone"')
    await run('alter table "credentials" rename column "lastUsedAtMs" to "usedGone"')
    world.system.pass(60 * 86_400_000)
    world.service.upkeep.start()
    const held = () =>
      world.store.read(({ db }) =>
        db.selectFrom('cardTransactions').select('id').where('holdExpiresAtMs', 'is not', null).execute(),
      )
    const answers = () => world.store.read(({ db }) => db.selectFrom('idempotencyRecords').select('key').execute())
    await expect.poll(held).toEqual([])
    await expect.poll(answers).toEqual([])
    await world.service.upkeep.stop()
    expect(world.alarms.filter((line) => line.startsWith('the upkeep failed')).length).toBeGreaterThan(1)
    await run('alter table "pagesGone" rename to "cardPages"')
    await run('alter table "credentials" rename column "usedGone" to "lastUsedAtMs"')
    await world.drop()
  })
})
