import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { postgres } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

const guide = readFileSync(fileURLToPath(new URL('../../docs/scaling.md', import.meta.url)), 'utf8')
/** Returns the SQL code blocks under a heading of `docs/scaling.md`. */
const sqlUnder = (heading: string) => {
  const section = guide.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql = '']) => sql)
}

test('partitions by time do not affect callers, except that purchases in a detached partition are no longer found', async () => {
  const world = await createWorld(postgres)
  const cardId = await world.issueCard()
  await world.issueCard()
  const old = (await world.authorize(cardId, 1200)).json.data.id as string
  const client = new pg.Client({ connectionString: world.url })
  await client.connect()
  await client.query(String(sqlUnder('Partitions by time')[0]))
  const { rows } = await client.query('select count(*)::int as count from pg_partitioned_table')
  expect(rows).toEqual([{ count: 2 }])

  world.system.pass(Date.UTC(2027, 5, 1) - world.system.now())
  const later = (await world.authorize(await world.issueCard(), 700)).json.data.id as string
  expect(await purchases(world)).toEqual([later, old])
  expect((await client.query('select id from "cardTransactions_2027"')).rows).toEqual([{ id: later }])
  await client.query('alter table "cardTransactions" detach partition "cardTransactions_before"')
  expect(await purchases(world)).toEqual([later])
  expect((await world.get(`/card-transactions/${old}`)).status).toBe(404)
  await client.end()
  await world.drop()
})

async function purchases(world: World): Promise<string[]> {
  const { json } = await world.get('/card-transactions')
  return json.data.map(({ id }: { id: string }) => id)
}
