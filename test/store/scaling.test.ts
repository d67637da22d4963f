import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { placements } from '../../src/service/store/schema/tenants.ts'
import { postgres } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

/** What an operator is told to run, of `docs/scaling.md`. */
const text = readFileSync(fileURLToPath(new URL('../../docs/scaling.md', import.meta.url)), 'utf8')
const sqlUnder = (heading: string) => {
  const section = text.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql = '']) => sql)
}

test('the tables are distributed on Citus as they are declared', () => {
  expect(sqlUnder('Citus')[1]).toBe(`${citus().join('\n')}\n`)
})

/** Tables of one place are beside each other. */
function citus(): string[] {
  const first = new Map<string, string>()
  return Object.entries(placements).map(([table, { place, by }]) => {
    if (place === 'everywhere') return `select create_reference_table('"${table}"');`
    const group = place === 'party' ? 'party' : String(by)
    const beside = first.get(group)
    if (beside === undefined) first.set(group, table)
    const colocation =
      beside === undefined ? (place === 'party' ? '' : ", colocate_with => 'none'") : `, colocate_with => '"${beside}"'`
    return `select create_distributed_table('"${table}"', '${by}'${colocation});`
  })
}

test('what Citus and partitions need changes nothing for who calls', async () => {
  const world = await createWorld(postgres)
  const cardId = await world.issueCard()
  await world.issueCard()
  const old = (await world.authorize(cardId, 1200)).json.data.id as string
  const client = new pg.Client({ connectionString: world.url })
  await client.connect()
  for (const statements of [sqlUnder('Citus')[0], sqlUnder('Partitions by time')[0]])
    await client.query(String(statements))
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
