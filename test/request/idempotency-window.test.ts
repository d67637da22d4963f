import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createService } from '../../src/service/service.ts'
import { type Store, StoreBusyError } from '../../src/service/store/engine/store.ts'
import { proveBooks, readBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addKey, createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'
import { expectFirst, expectReplay, isReplay } from './replays.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Books' } }
const keySource = { source: { header: 'Idempotency-Key' } }
const second = 1000
const hour = 3600 * second

onEachDatabase('the record of idempotency keys', (database) => {
  let world: World
  let count = 0
  const newKey = () => `idempotency ${count++}`

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const transactionsOf = async (cardId: string) =>
    (await readBooks(world.store)).transactions.filter((transaction) => transaction.cardId === cardId)

  describe('the replay window', () => {
    test.each([
      ['when enough real time passes', async (ms: number) => world.system.pass(ms)],
      [
        'when the sandbox clock is advanced past it',
        async (ms: number) => {
          await world.post('/simulations/clock/advance', { seconds: ms / second })
        },
      ],
    ])('the replay window of 48 hours ends %s', async (_, pass) => {
      const [rememberedKey, forgottenKey] = [newKey(), newKey()]
      const issue = (idempotencyKey: string) => world.post('/agent-cards', card, { idempotencyKey })
      const firsts = await runInOrder([rememberedKey, forgottenKey], issue)
      await pass(48 * hour - second)
      expectReplay(await issue(rememberedKey), firsts[0])
      await pass(2 * second)
      const again = await issue(forgottenKey)
      expectFirst(again)
      expect(again.json.data.id).not.toBe(firsts[1]?.json.data.id)
      expectReplay(await issue(forgottenKey), again)
    })

    test('replays do not extend the window; after it, the key can be used for another request', async () => {
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      world.system.pass(47 * hour)
      expectReplay(await world.post('/agent-cards', card, sent), first)
      world.system.pass(hour + second)
      expectFirst(await world.post('/agent-cards', { ...card, maximumAmount: 1 }, sent))
    })

    test('the record of a key is deleted only a week after its window, in case a clock is wrong', async () => {
      await world.issueCard()
      world.system.pass(48 * hour)
      await world.service.upkeep.once()
      const before = (await readBooks(world.store)).keys
      expect(before).toBeGreaterThan(0)
      world.system.pass(7 * 24 * hour)
      await world.issueCard()
      expect((await readBooks(world.store)).keys).toBe(before + 1)
      await world.service.upkeep.once()
      expect((await readBooks(world.store)).keys).toBe(1)
    })
  })

  describe('refusals without a recorded answer', () => {
    test('refusals of unknown credentials, missing permissions and missing instance ids are not recorded', async () => {
      const { partyId } = await world.whoami()
      const key = await addKey(world, { partyId, agentId: null, scopes: [] })
      const cardId = await world.issueCard()
      const idempotencyKey = newKey()
      const before = (await readBooks(world.store)).keys
      expectRefusal(
        await world.authorize(cardId, 100, { idempotencyKey, key: `${world.agentKey}x` }),
        'unauthenticated',
      )
      expectRefusal(await world.authorize(cardId, 100, { idempotencyKey, key }), 'forbidden')
      expectRefusal(await world.authorize(cardId, 100, { idempotencyKey, instanceId: null }), 'missing_instance_id', {
        source: { header: 'X-Instance-ID' },
      })
      expect((await readBooks(world.store)).keys).toBe(before)
      await setScopes(world, (await world.whoami(key)).keyId, ['payments.create'])
      expectFirst(await world.authorize(cardId, 100, { idempotencyKey, key }))
    })

    test('a refusal by the rate limit is not recorded', async () => {
      const limited = await createWorld(database, { rateLimit: 1 })
      await limited.get('/whoami')
      const answer = await limited.post('/agent-cards', card, { idempotencyKey: newKey() })
      expectRefusal(answer, 'rate_limited')
      expect((await readBooks(limited.store)).keys).toBe(0)
      await limited.drop()
    })

    test('a refusal because the database is busy is not recorded', async () => {
      const { store, system } = world
      let isBusy = true
      const busy: Store = {
        aside: (work) => store.aside(work),
        dialect: store.dialect,
        clock: store.clock,
        settling: store.settling,
        close: () => store.close(),
        read: (work) => store.read(work),
        transaction: (work) =>
          store.transaction(async (tx) => {
            const result = await work(tx)
            if (isBusy) throw new StoreBusyError('test')
            return result
          }),
      }
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const service = createService({ store: busy, system, environment: 'sandbox', rateLimit: 1e6, log })
      const headers = {
        Authorization: `Bearer ${world.agentKey}`,
        'Content-Type': 'application/json',
        'X-Instance-ID': 'run 1',
        'Idempotency-Key': newKey(),
      }
      const body = JSON.stringify({ data: { attributes: card } })
      const issue = () =>
        service.fetch(new Request('http://sandbox.test/agent-cards', { method: 'POST', headers, body }))
      const before = await readBooks(store)
      const refused = await issue()
      expect(refused.status).toBe(503)
      expect(await refused.json()).toMatchObject({ errors: [{ code: 'service_unavailable' }] })
      expect(await readBooks(store)).toEqual(before)
      isBusy = false
      const answers = [await issue(), await issue()]
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(answers.map((answer) => answer.headers.get('x-idempotency-replayed'))).toEqual([null, 'true'])
    })

    test('repeats of an unresolved authorization resolve it exactly once', async () => {
      const cardId = await world.issueCard()
      const unresolved = { ...purchase, merchant: { name: 'Sandbox Unresolved' } }
      const path = `/simulations/agent-cards/${cardId}/authorize`
      const sent = { idempotencyKey: newKey() }
      const before = await readBooks(world.store)
      const first = await world.post(path, unresolved, sent)
      expectRefusal(first, 'service_unavailable', { retryable: true })
      expect(first.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(await readBooks(world.store)).toEqual({ ...before, keys: before.keys + 1 })

      expectRefusal(await world.post(path, { ...unresolved, amount: 5 }, sent), 'conflict', keySource)
      expectRefusal(await world.post('/agent-cards', card, sent), 'conflict', keySource)
      const resolved = await Promise.all(Array.from({ length: 20 }, () => world.post(path, unresolved, sent)))
      const effects = resolved.filter((answer) => answer.status === 200 && !isReplay(answer))
      expect(effects).toHaveLength(1)
      for (const answer of resolved) expect([200, 409]).toContain(answer.status)
      expectReplay(await world.post(path, unresolved, sent), effects[0])
      expect(effects[0]?.json.data.attributes).toMatchObject({ status: 'authorized', held: 100 })
      expect(await transactionsOf(cardId)).toHaveLength(1)
    })

    test('the key of an authorization that stays unresolved is kept forever', async () => {
      const cardId = await world.issueCard()
      const path = `/simulations/agent-cards/${cardId}/authorize`
      const sent = { idempotencyKey: newKey() }
      const unresolved = { ...purchase, merchant: { name: 'Sandbox Unresolved' } }
      expectRefusal(await world.post(path, unresolved, sent), 'service_unavailable', { retryable: true })
      world.system.pass(1000 * hour)
      expectRefusal(await world.post('/agent-cards', card, sent), 'conflict', keySource)
      const late = await world.post(path, unresolved, sent)
      expectFirst(late)
      expect(late.json.data.attributes.decline.code).toBe('single_use_card_expired')
    })

    test('every authorization with a new key at the merchant Sandbox Unresolved is unresolved at first', async () => {
      const path = `/simulations/agent-cards/${await world.issueCard()}/authorize`
      const unresolved = { ...purchase, merchant: { name: 'Sandbox Unresolved' } }
      for (const idempotencyKey of [newKey(), newKey()]) {
        const answer = await world.post(path, unresolved, { idempotencyKey })
        expectRefusal(answer, 'service_unavailable', { retryable: true })
      }
    })
  })
})

async function runInOrder<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await run(item))
  return results
}

function setScopes({ store }: World, keyId: string, scopes: string[]): Promise<void> {
  return store.transaction(async ({ db }) => {
    await db
      .updateTable('credentials')
      .set({ scopes: JSON.stringify(scopes) })
      .where('id', '=', keyId)
      .execute()
  })
}
