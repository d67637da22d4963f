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
/** More holds than one batch expires. */
const holds = 40
const maxConcurrent = 32

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
  const available = async (in_ = world) => {
    const answer = await in_.get(`/wallets/${holder.walletId}`, { key: holder.agentKey })
    return answer.json.data.attributes.balance.available
  }
  const entered = async ({ db }: Transaction, reason: Posting['reason']) => {
    const query = db.selectFrom('ledgerEntries').select((of) => of.fn.countAll().as('count'))
    return Number((await query.where('reason', '=', reason).executeTakeFirstOrThrow()).count) / 2
  }

  /**
   * Records after each transaction of the service how many effects it applied. `then` may delay the transaction's end.
   */
  const watch = (then: (events: number) => Promise<void> | void = () => {}, reason: Posting['reason'] = 'released') => {
    const steps: number[] = []
    const { store } = world
    const transaction = store.transaction.bind(store)
    store.transaction = async (work, options) => {
      const before = await store.read((tx) => entered(tx, reason))
      const result = await transaction(work, options)
      const events = (await store.read((tx) => entered(tx, reason))) - before
      if (events > 0) {
        steps.push(events)
        await then(events)
      }
      return result
    }
    return { steps, unwatch: () => Object.assign(store, { transaction }) }
  }

  test('happens in batches, each in its own transaction', async () => {
    await hold()
    const { steps, unwatch } = watch()
    expect((await advance(week)).status).toBe(200)
    unwatch()
    expect(steps.reduce((sum, events) => sum + events, 0)).toBe(holds)
    expect(Math.max(...steps)).toBe(maxConcurrent)
    expect(await available()).toBe(holds)
  })

  test('happens in batches even if one subscription is charged for years', async () => {
    await merchant(world).active(weekly)
    const { steps, unwatch } = watch(undefined, 'subscription_paid')
    expect((await advance(3 * 366 * day)).status).toBe(200)
    unwatch()
    // Payment 1 was paid in checkout.
    expect(steps.reduce((sum, events) => sum + events, 0)).toBe(Math.floor((3 * 366) / 7))
    expect(Math.max(...steps)).toBe(maxConcurrent)
  })

  test('keeps no other party waiting: it is answered while the clock jumps', async () => {
    await hold()
    const order: string[] = []
    const { unwatch } = watch(async () => {
      if (order.length > 0) return
      order.push('asked')
      expect((await world.get('/wallets')).status).toBe(200)
      expect((await world.authorize(await world.issueCard(), 1)).status).toBe(200)
      order.push('another party')
    })
    expect((await advance(week)).status).toBe(200)
    order.push('the jump')
    unwatch()
    expect(order).toEqual(['asked', 'another party', 'the jump'])
  })

  test.each(['a request', 'the upkeep'])('continues with %s where a jump was interrupted', async (who) => {
    await hold()
    const { steps, unwatch } = watch(() => {
      if (steps.length === 1) throw new StoreBusyError('The process was killed.')
    })
    await advance(week)
    unwatch()
    expect(world.alarms.splice(0).join()).toContain('some due effects are not applied yet')
    expect(steps).toEqual([maxConcurrent])
    const next = await anotherProcess(world, fakeSystem({ now: world.system.now() }))
    if (who === 'the upkeep') {
      await next.service.upkeep.once()
      const { transactions } = await proveBooks(world.store)
      expect(transactions.filter(({ status }) => status === 'authorized')).toEqual([])
    }
    expect(await available(next)).toBe(holds)
    await next.drop()
  })

  test('happens once, even if several processes do it together', async () => {
    await hold()
    const other = await anotherProcess(world, world.system)
    world.system.pass(week * 1000)
    const all = [world, other].flatMap((one) => [one.service.upkeep.once(), available(one), available(one)])
    const answers = (await Promise.all(all)).filter((answer) => answer !== undefined)
    expect(answers).toEqual([holds, holds, holds, holds])
    await other.drop()
  })

  test('delays no answer even if another effect is always due', async () => {
    for (let count = 0; count < 12; count++) {
      await hold(1)
      world.system.pass(1000)
    }
    world.system.pass((week - 12) * 1000)
    const { steps, unwatch } = watch(() => world.system.pass(1000))
    expect(await available()).toBe(holds - 12 + 1 + steps.length - 1)
    expect(steps.length).toBeLessThan(6)
    unwatch()
  })
})
