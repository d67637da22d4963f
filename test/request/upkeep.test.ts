import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../src/config/log.ts'
import { createLastUses } from '../../src/service/request/last-use.ts'
import { createUpkeep } from '../../src/service/request/upkeep.ts'
import type { Store, Transaction } from '../../src/service/store/engine/store.ts'
import { columnsOf } from '../../src/service/store/schema/table.ts'
import { type Tables, tables } from '../../src/service/store/schema/tables.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

const day = 24 * 60 * 60_000

/** The kinds of rows that the upkeep deletes. The upkeep deletes a row `keptMs` after the time in `column`. */
const kinds: readonly { name: string; table: keyof Tables; column: string; keptMs: number; model?: string }[] = [
  { name: 'idempotency records', table: 'idempotencyRecords', column: 'finishedAtMs', keptMs: 9 * day },
  { name: 'card pages', table: 'cardPages', column: 'expiresAtMs', keptMs: day },
  { name: 'access tokens', table: 'accessTokens', column: 'expiresAtMs', keptMs: 0 },
  { name: 'grant tokens', table: 'grantTokens', column: 'expiresAtMs', keptMs: 0 },
  { name: 'sign-in sessions', table: 'signInSessions', column: 'expiresAtMs', keptMs: 0 },
  { name: 'sign-in links', table: 'signInLinks', column: 'expiresAtMs', keptMs: 0 },
  { name: 'known browsers', table: 'knownBrowsers', column: 'expiresAtMs', keptMs: 0 },
  { name: 'OAuth sessions', table: 'oauthRecords', column: 'expiresAtMs', keptMs: 0, model: 'Session' },
  { name: 'OAuth clients', table: 'oauthRecords', column: 'createdAtMs', keptMs: day, model: 'Client' },
  { name: 'client documents', table: 'oauthRecords', column: 'createdAtMs', keptMs: day, model: 'ClientDocument' },
  { name: 'refused passwords', table: 'refusedPasswords', column: 'refusedAtMs', keptMs: day / 96 },
]

/** The number of outdated rows: one more than two batches can delete. A batch deletes at most 500 rows. */
const outdated = 1_001
const current = 3

onEachDatabase('deletion of outdated rows by the upkeep', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test.each(kinds)('outdated $name are deleted in batches of at most 500', async ({ table, column, keptMs, model }) => {
    const also = model === undefined ? {} : { model }
    const nowMs = world.system.now()
    await insert(world, table, outdated, (number) => ({ ...also, [column]: nowMs - keptMs - number }))
    await insert(world, table, current, (number) => ({ ...also, [column]: nowMs - keptMs + 1 + number }))
    const before = await count(world.store, table)
    const deleted: number[] = []
    await runUpkeep(world, async () => {
      deleted.push(before - deleted.reduce((sum, one) => sum + one, 0) - (await count(world.store, table)))
    })
    expect(deleted.filter((rows) => rows > 0)).toEqual([500, 500, 1])
    expect(await count(world.store, table)).toBe(before - outdated)
  })

  test('an old OAuth client is deleted only if no user has connected it', async () => {
    const createdAtMs = world.system.now() - 2 * day
    await insert(world, 'oauthRecords', 2, (number) => ({ model: 'Client', uid: `client ${number}`, createdAtMs }))
    await insert(world, 'oauthGrants', 1, () => ({ clientId: 'client 1' }))
    await world.service.upkeep.once()
    const clients = world.store.read(({ db }) =>
      db.selectFrom('oauthRecords').select('uid').where('uid', 'like', 'client %').execute(),
    )
    expect(await clients).toEqual([{ uid: 'client 1' }])
  })
})

/** Runs the upkeep once, and calls `afterTransaction` after each of its transactions. */
async function runUpkeep({ store, system }: World, afterTransaction: () => Promise<void>): Promise<void> {
  const watched: Pick<Store, 'transaction' | 'read' | 'clock' | 'settling'> = {
    clock: store.clock,
    settling: store.settling,
    read: (work) => store.read(work),
    transaction: async (work) => {
      const result = await store.transaction(work)
      await afterTransaction()
      return result
    },
  }
  await createUpkeep({
    store: watched as Store,
    system,
    lastUses: createLastUses(),
    log: createLogger({ level: 'silent' }),
  }).once()
}

async function insert(
  { store }: World,
  table: keyof Tables,
  rowCount: number,
  columns: (index: number) => object,
): Promise<void> {
  const filler = Object.fromEntries(
    columnsOf(tables[table]).map(([name, { type, isNullable }]) => [
      name,
      isNullable ? null : type === 'text' ? '' : 0,
    ]),
  )
  const rows = Array.from({ length: rowCount }, (_, index) => ({ ...filler, ...unique(table), ...columns(index) }))
  await store.transaction(async ({ db }: Transaction) => {
    for (let from = 0; from < rows.length; from += 500) {
      await db
        .insertInto(table)
        .values(rows.slice(from, from + 500) as never)
        .execute()
    }
  })
}

let inserted = 0

/** Returns a new value for each column of the table whose values must be unique. */
function unique(table: keyof Tables): object {
  const names = ['id', 'idHash', 'key', 'tokenHash', 'secretHash', 'codeHash']
  const has = Object.keys(tables[table])
  inserted += 1
  return Object.fromEntries(names.filter((name) => has.includes(name)).map((name) => [name, `${name} ${inserted}`]))
}

function count(store: Store, table: keyof Tables): Promise<number> {
  return store.read(async ({ db }) => {
    const found = db.selectFrom(table).select(({ fn }) => fn.countAll().as('count'))
    return Number((await found.executeTakeFirstOrThrow()).count)
  })
}
