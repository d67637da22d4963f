import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dueColumns } from '../../src/service/request/timed-effects.ts'
import { pauseAfter, type TimedKind } from '../../src/service/rules/failed-effects.ts'
import { inspectDatabase } from '../../src/service/store/engine/inspection.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { activeSubscription, invitation, purchase, sentRequest, withdrawal } from '../isolation/makers.ts'
import { type Grounds, groundsIn } from '../isolation/places.ts'
import { proveBooks } from '../ledger/books.ts'
import { buy, shopOf } from '../shops/shopping.ts'
import { onEachDatabase } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createWorld } from '../support/world.ts'

/** A kind of due effect, and a change to its record that makes the effect fail. */
interface Kind {
  make: (on: Grounds) => Promise<string | undefined>
  column: string
  /** The value that makes the effect fail. It depends on the dialect if the two databases refuse different values. */
  broken: string | Readonly<Record<Store['dialect'], string>>
  jumpSeconds?: number
}

const byMaker = (maker: typeof purchase) => async (on: Grounds) => Object.values(await maker(on, on.places.own))[0]

const kinds: Readonly<Record<TimedKind, Kind>> = {
  shop: {
    make: async ({ world }) => (await buy(world, shopOf('ships-later'))).attributes.orderId,
    column: 'cardTransactionId',
    broken: 'ctx_gone',
    // The clock jumps by only one day. In a year, the hold would expire and the shop would cancel the order.
    jumpSeconds: 86_400,
  },
  bank: { make: byMaker(withdrawal), column: 'walletId', broken: 'wal_gone' },
  hold: { make: byMaker(purchase), column: 'walletId', broken: 'wal_gone' },
  subscription: { make: byMaker(activeSubscription), column: 'walletId', broken: 'wal_gone' },
  invitation: {
    make: byMaker(invitation),
    column: 'version',
    // The largest number that the column can store, so that the next version doesn't fit.
    broken: { sqlite: '9223372036854775807', postgres: '2147483647' },
  },
  request: { make: byMaker(sentRequest), column: 'status', broken: 'CANCELLED' },
}

const minuteMs = 60_000
const yearSeconds = 366 * 86_400

onEachDatabase('due effects that fail', (database) => {
  let on: Grounds
  beforeEach(async () => {
    on = await groundsIn(await createWorld(database))
  })
  afterEach(() => on.world.drop())

  const inTable = (kind: TimedKind) => sql.table(dueColumns[kind].table)
  const read = async (kind: TimedKind, id: string, column: string) => {
    const query = sql<{
      value: string | number
    }>`select ${sql.ref(column)} as value from ${inTable(kind)} where id = ${id}`
    return (await on.world.store.read(({ db }) => query.execute(db))).rows[0]?.value
  }
  const write = (kind: TimedKind, id: string, value: unknown) => {
    const query = sql`update ${inTable(kind)} set ${sql.ref(kinds[kind].column)} = ${value} where id = ${id}`
    return on.world.store.transaction(({ db }) => query.execute(db))
  }
  const failed = () => on.world.store.read(({ db }) => db.selectFrom('failedEffects').selectAll().execute())
  const events = async (id: string) => {
    const rows = await on.world.store.read(({ db }) =>
      db
        .selectFrom('events')
        .select(['type', 'createdAtMs'])
        .where('resourceId', '=', id)
        .orderBy('sequence')
        .execute(),
    )
    return rows.map(({ type, createdAtMs }) => `${type} ${createdAtMs}`)
  }
  const advance = async (seconds: number) =>
    expect((await on.world.post('/simulations/clock/advance', { seconds })).status).toBe(200)
  const nowMs = async () => Date.parse((await on.world.get('/simulations/clock')).json.data.attributes.now)

  test.each(sampleOf(Object.keys(kinds) as TimedKind[], 2))(
    'a failing effect of the kind %s blocks nothing else, and is applied once its record is repaired',
    async (kind) => {
      const { world } = on
      const [failingId = '', healthyId = ''] = [await kinds[kind].make(on), await kinds[kind].make(on)]
      const [before, validValue] = [await events(failingId), await read(kind, failingId, kinds[kind].column)]
      const dueMs = Number(await read(kind, healthyId, dueColumns[kind].column))
      const { broken, jumpSeconds = yearSeconds } = kinds[kind]
      await write(kind, failingId, typeof broken === 'string' ? broken : sql.raw(broken[world.store.dialect]))
      const alarms = world.alarms.length

      await advance(Math.ceil((dueMs - (await nowMs())) / 1000) + 1)
      expect(await events(failingId)).toEqual(before)
      expect((await events(healthyId)).length).toBeGreaterThan(before.length)
      expect(await failed()).toMatchObject([
        { kind, recordId: failingId, attempts: 1, dueAtMs: dueMs, retryAtMs: (await nowMs()) + pauseAfter(1) },
      ])
      expect(world.alarms.slice(alarms).join()).toContain('a due effect failed and is set aside')
      expect((await world.get('/wallets')).status).toBe(200)
      await world.issueCard()

      const found = await inspectDatabase({ url: world.url, secrets: undefined, keyHash: '' })
      expect(found).toMatchObject({ failedEffects: { count: 1, some: [{ kind, recordId: failingId, attempts: 1 }] } })

      // The pause doubles after each failure. A clock jump past the end of the pause causes the next attempt.
      world.system.pass(minuteMs)
      await world.service.upkeep.once()
      expect(await failed()).toMatchObject([{ attempts: 2, retryAtMs: (await nowMs()) + 2 * minuteMs }])
      await advance(jumpSeconds)
      expect(await failed()).toMatchObject([{ attempts: 3, dueAtMs: dueMs }])

      await write(kind, failingId, validValue)
      await advance(pauseAfter(3) / 1000)
      expect(await failed()).toEqual([])
      expect(await events(failingId)).toEqual(await events(healthyId))
      await proveBooks(world.store)
    },
  )

  test('the record of a hold’s failed expiry is deleted after a request releases the hold', async () => {
    const { world } = on
    const id = String(await kinds.hold.make(on))
    const validValue = await read('hold', id, 'walletId')
    await write('hold', id, 'wal_gone')
    await advance(7 * 86_400 + 1)
    expect(await failed()).toMatchObject([{ recordId: id, attempts: 1 }])
    await write('hold', id, validValue)
    const sent = { key: world.apiKey }
    expect((await world.post(`/simulations/card-transactions/${id}/reverse`, {}, sent)).status).toBe(200)
    expect(await failed()).toHaveLength(1)
    world.system.pass(minuteMs)
    await world.service.upkeep.once()
    expect(await failed()).toEqual([])
    await proveBooks(world.store)
  })

  test('a request succeeds even if effects keep falling due meanwhile and one of them fails', async () => {
    const { world } = on
    const ids: string[] = []
    for (let count = 0; count < 3; count++) {
      ids.push(String(await kinds.hold.make(on)))
      world.system.pass(1000)
    }
    await write('hold', String(ids[2]), 'wal_gone')
    world.system.pass(7 * 86_400_000 - 3000)
    const { store } = world
    const transaction = store.transaction.bind(store)
    const lapsed = () =>
      store.read(({ db }) => sql`select 1 from "cardTransactions" where "holdExpiresAtMs" is null`.execute(db))
    store.transaction = async (work, options) => {
      const before = (await lapsed()).rows.length
      const result = await transaction(work, options)
      if ((await lapsed()).rows.length > before) world.system.pass(1000)
      return result
    }
    const answer = await world.get('/wallets')
    Object.assign(store, { transaction })
    expect(answer.status).toBe(200)
    expect((await lapsed()).rows).toHaveLength(2)
    expect(await failed()).toMatchObject([{ recordId: ids[2], attempts: 1 }])
  })
})

test('after each failure of a due effect, the pause before the next attempt doubles, up to a day', () => {
  expect([1, 2, 3, 11, 12, 2000].map((attempts) => pauseAfter(attempts) / minuteMs)).toEqual([
    1, 2, 4, 1024, 1440, 1440,
  ])
})
