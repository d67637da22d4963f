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

/**
 * The rows that upkeep deletes. `instant` is the column with the time at which a row ends, `keptMs` how long the row is
 * kept after that, and `also` other required values.
 */
const kinds: readonly { table: keyof Tables; instant: string; keptMs: number; also?: object; name?: string }[] = [
  { table: 'idempotencyRecords', instant: 'finishedAtMs', keptMs: 9 * day },
  { table: 'cardPages', instant: 'expiresAtMs', keptMs: day },
  { table: 'accessTokens', instant: 'expiresAtMs', keptMs: 0 },
  { table: 'grantTokens', instant: 'expiresAtMs', keptMs: 0 },
  { table: 'signInSessions', instant: 'expiresAtMs', keptMs: 0 },
  { table: 'signInLinks', instant: 'expiresAtMs', keptMs: 0 },
  { table: 'knownBrowsers', instant: 'expiresAtMs', keptMs: 0 },
  { table: 'oauthRecords', instant: 'expiresAtMs', keptMs: 0, name: 'records of OAuth', also: { model: 'Session' } },
  { table: 'oauthRecords', instant: 'createdAtMs', keptMs: day, name: 'clients', also: { model: 'Client' } },
  { table: 'oauthRecords', instant: 'createdAtMs', keptMs: day, name: 'documents', also: { model: 'ClientDocument' } },
  { table: 'refusedPasswords', instant: 'refusedAtMs', keptMs: day / 96 },
]

/** The number of outdated rows, which is more than two deletions remove. */
const outdated = 1_001
const living = 3

onEachDatabase('the upkeep deletes outdated rows:', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test.each(kinds)('$table ($instant, $name), a few at a time', async ({ table, instant, keptMs, also }) => {
    const nowMs = world.system.now()
    await insert(world, table, outdated, (number) => ({ ...also, [instant]: nowMs - keptMs - number }))
    await insert(world, table, living, (number) => ({ ...also, [instant]: nowMs - keptMs + 1 + number }))
    const before = await count(world.store, table)
    const deleted: number[] = []
    await runUpkeep(world, async () => {
      deleted.push(before - deleted.reduce((sum, one) => sum + one, 0) - (await count(world.store, table)))
    })
    expect(deleted.filter((rows) => rows > 0)).toEqual([500, 500, 1])
    expect(await count(world.store, table)).toBe(before - outdated)
  })

  test('but no client that a user connected', async () => {
    const createdAtMs = world.system.now() - 2 * day
    await insert(world, 'oauthRecords', 2, (number) => ({ model: 'Client', uid: `client ${number}`, createdAtMs }))
    await insert(world, 'oauthGrants', 1, () => ({ clientId: 'client 1' }))
    await world.service.upkeep.once()
    const named = world.store.read(({ db }) =>
      db.selectFrom('oauthRecords').select('uid').where('uid', 'like', 'client %').execute(),
    )
    expect(await named).toEqual([{ uid: 'client 1' }])
  })
})

/** Runs the upkeep, and calls `between` after each of its transactions, as if another request ran. */
async function runUpkeep({ store, system }: World, between: () => Promise<void>): Promise<void> {
  const watched: Pick<Store, 'transaction' | 'read' | 'clock' | 'settling'> = {
    clock: store.clock,
    settling: store.settling,
    read: (work) => store.read(work),
    transaction: async (work) => {
      const result = await store.transaction(work)
      await between()
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
  number: number,
  columns: (number: number) => object,
): Promise<void> {
  const filler = Object.fromEntries(
    columnsOf(tables[table]).map(([name, { type, isNullable }]) => [
      name,
      isNullable ? null : type === 'text' ? '' : 0,
    ]),
  )
  const rows = Array.from({ length: number }, (_, index) => ({ ...filler, ...unique(table), ...columns(index) }))
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

/** Returns the values of columns that must be unique. */
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
