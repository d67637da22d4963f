import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { nameTenants, placements } from '../../src/service/store/schema/tenants.ts'
import { allTables } from '../ledger/books.ts'
import { onEachDatabase, postgres } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

interface Key {
  table: string
  columns: string[]
}

const keys = sql<Key>`
  select c.relname as "table", array_agg(a.attname::text order by k.place) as columns
  from pg_index i join pg_class c on c.oid = i.indrelid
  cross join unnest(i.indkey) with ordinality as k (attnum, place)
  join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
  where i.indisprimary and c.relnamespace = 'public'::regnamespace and c.relname not like 'kysely%' group by 1 order by 1`

test('on PostgreSQL each table has a key, which begins with whose rows they are or with what they are found by', async () => {
  const { store, drop } = await postgres.create()
  const found = await store.read(async ({ db }) => (await keys.execute(db)).rows)
  expect(found.map(({ table }) => table)).toEqual(Object.keys(placements).sort())
  const led = Object.fromEntries(found.map(({ table, columns }) => [table, columns[0]]))
  const declared = Object.entries(placements).flatMap(([table, { by }]) => (by === undefined ? [] : [[table, by]]))
  expect(led).toMatchObject(Object.fromEntries(declared))
  await drop()
})

onEachDatabase('rows that are older than their column for the party', (database) => {
  test('get it from what they belong to', async () => {
    const world = await createWorld(database)
    await world.authorize(await world.issueCard(), 1200)
    await world.post('/payments', {
      amount: 100,
      currency: 'USD',
      counterparty: { type: 'email', value: 'a@example.com' },
    })
    const before = await allTables(world.store)
    const filled = ['walletAgents', 'walletPermissions', 'ledgerEntries', 'transactions'] as const
    await world.store.transaction(async ({ db }) => {
      for (const table of filled) await db.updateTable(table).set({ partyId: '' }).execute()
      await nameTenants(db as never)
    })
    const after = await allTables(world.store)
    for (const table of filled) expect(new Set(after.get(table)), table).toEqual(new Set(before.get(table)))
    expect(after.get('ledgerEntries')?.length).toBeGreaterThan(4)
    await world.drop()
  })
})
