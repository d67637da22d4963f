import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Posting } from '../../src/service/rules/ledger.ts'
import { StoreBusyError, type Transaction } from '../../src/service/store/engine/store.ts'
import { proveBooks } from '../ledger/books.ts'
import { merchant, weekly } from '../subscriptions/merchant.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { addParty, anotherProcess, createWorld, type OtherParty, type World } from '../support/world.ts'

const day = 86_400
const week = 7 * day
/** More holds than one batch can release. */
const holds = 40
const batchLimit = 32

onEachDatabase('the application of due effects', (database) => {
  let world: World
  let holder: OtherParty

  beforeEach(async () => {
    world = await createWorld(database, { keepsRuns: false })
    holder = await addParty(world, { fundsCents: holds })
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const hold = async (count = holds) => {
    const key = holder.agentKey
    const cards = await Promise.all(Array.from({ length: count }, () => world.issueCard({}, { key })))
    await Promise.all(cards.map((cardId) => world.authorize(cardId, 1, { key })))
  }
  const advance = (seconds: number) => world.post('/simulations/clock/advance', { seconds })
  const available = async (target = world) => {
    const answer = await target.get(`/wallets/${holder.walletId}`, { key: holder.agentKey })
    return answer.json.data.attributes.balance.available
  }
  const countPostings = async ({ db }: Transaction, reason: Posting['reason']) => {
    const query = db.selectFrom('ledgerEntries').select((builder) => builder.fn.countAll().as('count'))
    return Number((await query.where('reason', '=', reason).executeTakeFirstOrThrow()).count) / 2
  }

  /**
   * Records how many due effects each transaction of the service applies. After each transaction that applied at least
   * one effect, waits for `afterBatch`.
   */
  const watch = (afterBatch: () => Promise<void> | void = () => {}, reason: Posting['reason'] = 'released') => {
    const batchSizes: number[] = []
    const { store } = world
    const transaction = store.transaction.bind(store)
    store.transaction = async (work, options) => {
      const before = await store.read((tx) => countPostings(tx, reason))
      const result = await transaction(work, options)
      const effects = (await store.read((tx) => countPostings(tx, reason))) - before
      if (effects > 0) {
        batchSizes.push(effects)
        await afterBatch()
      }
      return result
    }
    return { batchSizes, unwatch: () => Object.assign(store, { transaction }) }
  }

  test('due effects are applied in batches, each in its own transaction', async () => {
    await hold()
    const { batchSizes, unwatch } = watch()
    expect((await advance(week)).status).toBe(200)
    unwatch()
    expect(batchSizes.reduce((sum, effects) => sum + effects, 0)).toBe(holds)
    expect(Math.max(...batchSizes)).toBe(batchLimit)
    expect(await available()).toBe(holds)
  })

  test('years of due charges for one subscription are applied in batches', async () => {
    await merchant(world).active(weekly)
    const { batchSizes, unwatch } = watch(undefined, 'subscription_paid')
    expect((await advance(3 * 366 * day)).status).toBe(200)
    unwatch()
    // The first payment is not counted, because it was made at the checkout.
    expect(batchSizes.reduce((sum, effects) => sum + effects, 0)).toBe(Math.floor((3 * 366) / 7))
    expect(Math.max(...batchSizes)).toBe(batchLimit)
  })

  test('requests of another party are answered while a clock jump applies due effects', async () => {
    await hold()
    const order: string[] = []
    const { unwatch } = watch(async () => {
      if (order.length > 0) return
      order.push('another party asks')
      expect((await world.get('/wallets')).status).toBe(200)
      expect((await world.authorize(await world.issueCard(), 1)).status).toBe(200)
      order.push('another party has its answers')
    })
    expect((await advance(week)).status).toBe(200)
    order.push('the jump ends')
    unwatch()
    expect(order).toEqual(['another party asks', 'another party has its answers', 'the jump ends'])
  })

  test.each(['a request', 'the upkeep'])(
    '%s applies the effects that an interrupted clock jump left unapplied',
    async (who) => {
      await hold()
      const { batchSizes, unwatch } = watch(() => {
        if (batchSizes.length === 1) throw new StoreBusyError('The process was killed.')
      })
      await advance(week)
      unwatch()
      expect(world.alarms.splice(0).join()).toContain('some due effects are not applied yet')
      expect(batchSizes).toEqual([batchLimit])
      const next = await anotherProcess(world, fakeSystem({ now: world.system.now() }))
      if (who === 'the upkeep') {
        await next.service.upkeep.once()
        const { transactions } = await proveBooks(world.store)
        expect(transactions.filter(({ status }) => status === 'authorized')).toEqual([])
      }
      expect(await available(next)).toBe(holds)
      await next.drop()
    },
  )

  test('each due effect is applied once, even if several processes apply due effects simultaneously', async () => {
    await hold()
    const other = await anotherProcess(world, world.system)
    world.system.pass(week * 1000)
    const all = [world, other].flatMap((one) => [one.service.upkeep.once(), available(one), available(one)])
    const answers = (await Promise.all(all)).filter((answer) => answer !== undefined)
    expect(answers).toEqual([holds, holds, holds, holds])
    await other.drop()
  })

  test('a request is answered even if another effect falls due during each batch', async () => {
    for (let count = 0; count < 12; count++) {
      await hold(1)
      world.system.pass(1000)
    }
    world.system.pass((week - 12) * 1000)
    const { batchSizes, unwatch } = watch(() => world.system.pass(1000))
    expect(await available()).toBe(holds - 12 + 1 + batchSizes.length - 1)
    expect(batchSizes.length).toBeLessThan(6)
    unwatch()
  })
})
