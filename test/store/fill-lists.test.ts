import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { fillActivityLists } from '../../src/service/store/schema/fill-lists.ts'
import { allTables } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

onEachDatabase('rows that are older than what lists are read by', (database) => {
  test('are listed as new ones are', async () => {
    const world = await createWorld(database)
    await world.authorize(await world.issueCard(), 1200)
    await world.authorize(await world.issueCard(), 100)
    const before = await allTables(world.store)
    await world.store.transaction(async ({ db }) => {
      await sql`create table "activityKeys" ("key" bigint)`.execute(db)
      await db.deleteFrom('activityResources').execute()
      await db.updateTable('cardTransactions').set({ cardAgentId: '' }).execute()
      await fillActivityLists(db as never)
    })
    const after = await allTables(world.store)
    for (const table of ['activityResources', 'cardTransactions']) {
      expect(new Set(after.get(table)), table).toEqual(new Set(before.get(table)))
    }
    expect(before.get('activityResources')?.length).toBeGreaterThan(4)
    expect([...after.keys()]).not.toContain('activityKeys')
    await world.drop()
  })
})
