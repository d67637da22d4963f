import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

onEachDatabase('failing upkeep steps', (database) => {
  test('the upkeep runs its other steps even if two of them fail', async () => {
    const world = await createWorld(database, { keepsRuns: false })
    await world.authorize(await world.issueCard(), 100)
    const run = (statement: string) => world.store.transaction(({ db }) => sql.raw(statement).execute(db))
    // The renamed table and column make two steps fail: deleting old card pages, and storing the last use of a key.
    await run('alter table "cardPages" rename to "pagesGone"')
    await run('alter table "credentials" rename column "lastUsedAtMs" to "usedGone"')
    world.system.pass(60 * 86_400_000)
    world.service.upkeep.start()
    const openHolds = () =>
      world.store.read(({ db }) =>
        db.selectFrom('cardTransactions').select('id').where('holdExpiresAtMs', 'is not', null).execute(),
      )
    const recordedAnswers = () =>
      world.store.read(({ db }) => db.selectFrom('idempotencyRecords').select('key').execute())
    await expect.poll(openHolds).toEqual([])
    await expect.poll(recordedAnswers).toEqual([])
    await world.service.upkeep.stop()
    expect(world.alarms.filter((line) => line.startsWith('the upkeep failed')).length).toBeGreaterThan(1)
    await run('alter table "pagesGone" rename to "cardPages"')
    await run('alter table "credentials" rename column "usedGone" to "lastUsedAtMs"')
    await world.drop()
  })
})
