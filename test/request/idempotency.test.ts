import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proveBooks, readBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'
import { expectFirst, expectReplay, isReplay } from './replays.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Books' } }
const keySource = { source: { header: 'Idempotency-Key' } }

onEachDatabase('idempotency', (database) => {
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

  describe('the idempotency key', () => {
    test('every command on cards and card transactions requires a key of 1 to 255 characters', async () => {
      const cardId = await world.issueCard()
      const { id } = (await world.authorize(cardId, 100)).json.data
      const commands = [
        ['/agent-cards', card],
        [`/simulations/agent-cards/${cardId}/authorize`, purchase],
        ...['capture', 'refund'].map((action) => [
          `/simulations/card-transactions/${id}/${action}`,
          { amount: 100, currency: 'USD' },
        ]),
        ...['reverse', 'expire'].map((action) => [`/simulations/card-transactions/${id}/${action}`, {}]),
      ] as const
      const before = await readBooks(world.store)
      for (const [path, attributes] of commands) {
        for (const idempotencyKey of [null, '', '   ', 'k'.repeat(256)]) {
          const answer = await world.post(String(path), attributes, { idempotencyKey })
          expectRefusal(answer, 'invalid_value', keySource)
        }
      }
      expect(await readBooks(world.store)).toEqual(before)
    })

    test('a key can have 255 characters of any kind that a header can contain', async () => {
      for (const idempotencyKey of ['k'.repeat(255), 'é'.repeat(255), `"'; drop table x --`]) {
        const first = await world.post('/agent-cards', card, { idempotencyKey })
        expectFirst(first)
        expectReplay(await world.post('/agent-cards', card, { idempotencyKey }), first)
      }
    })

    test('operations that require no idempotency key ignore the header', async () => {
      const headers = { 'Idempotency-Key': 'k'.repeat(300) }
      expect((await world.get('/wallets', { headers })).status).toBe(200)
      const advance = () => world.post('/simulations/clock/advance', { seconds: 1 }, { idempotencyKey: 'one' })
      const [first, again] = [await advance(), await advance()]
      expectFirst(again)
      expect(again.text).not.toBe(first.text)
      expect((await world.post('/simulations/clock/advance', { seconds: 1 }, { idempotencyKey: null })).status).toBe(
        200,
      )
    })
  })

  describe('repeats', () => {
    test('a repeat gets the issued card again, byte for byte, and creates no second card', async () => {
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      expectFirst(first)
      expectReplay(await world.post('/agent-cards', card, sent), first)
      expectReplay(await world.post('/agent-cards', card, { ...sent, instanceId: 'another run' }), first)
      const ids = (await world.get('/agent-cards?limit=100')).json.data.map(({ id }: { id: string }) => id)
      expect(ids.filter((id: string) => id === first.json.data.id)).toHaveLength(1)
    })

    test('a repeated authorization gets the original answer even if the purchase has changed since', async () => {
      const cardId = await world.issueCard()
      const sent = { idempotencyKey: newKey() }
      const first = await world.authorize(cardId, 100, sent)
      await world.post(`/simulations/card-transactions/${first.json.data.id}/reverse`, {})
      expectReplay(await world.authorize(cardId, 100, sent), first)
      expect(await transactionsOf(cardId)).toHaveLength(1)
    })

    test('a repeated authorization that was declined gets the original answer', async () => {
      const cardId = await world.issueCard({ maximumAmount: 10 })
      const sent = { idempotencyKey: newKey() }
      const first = await world.authorize(cardId, 100, sent)
      expect(first.json.data.attributes.status).toBe('declined')
      expectReplay(await world.authorize(cardId, 100, sent), first)
      expect(await transactionsOf(cardId)).toHaveLength(1)
    })

    test('a repeat of a failed request gets the original failure, including its support id', async () => {
      const cardId = await world.issueCard()
      const { id } = (await world.authorize(cardId, 100)).json.data
      const failures = [
        ['/agent-cards', { ...card, maximumAmount: 0 }, 422],
        ['/agent-cards', { ...card, colour: 'red' }, 400],
        ['/simulations/agent-cards/pcd_missing/authorize', purchase, 404],
        [`/simulations/card-transactions/${id}/refund`, { amount: 1, currency: 'USD' }, 409],
        [`/simulations/card-transactions/${id}/capture`, { amount: 101, currency: 'USD' }, 422],
      ] as const
      for (const [path, attributes, status] of failures) {
        const sent = { idempotencyKey: newKey() }
        const first = await world.post(path, attributes, sent)
        expectFirst(first, status)
        expectReplay(await world.post(path, attributes, sent), first)
      }
    })

    test('a repeat gets the original failure even if the request would succeed now', async () => {
      const cardId = await world.issueCard()
      const { id } = (await world.authorize(cardId, 100)).json.data
      const refund = (sent: { idempotencyKey: string }) =>
        world.post(`/simulations/card-transactions/${id}/refund`, { amount: 1, currency: 'USD' }, sent)
      const sent = { idempotencyKey: newKey() }
      const first = await refund(sent)
      await world.post(`/simulations/card-transactions/${id}/capture`, { amount: 100, currency: 'USD' })
      expectReplay(await refund(sent), first)
      expectFirst(await refund({ idempotencyKey: newKey() }))
    })

    test('a request with a malformed body counts as a repeat only if it is identical byte for byte', async () => {
      const sent = { idempotencyKey: newKey(), body: '{"data":' }
      const first = await world.send('POST', '/agent-cards', sent)
      expectFirst(first, 400)
      expectReplay(await world.send('POST', '/agent-cards', sent), first)
      const other = await world.send('POST', '/agent-cards', { ...sent, body: '{"data": ' })
      expectRefusal(other, 'conflict', keySource)
    })

    test('a repeat can write the same JSON with another key order, white space or escapes', async () => {
      const cardId = await world.issueCard()
      const path = `/simulations/agent-cards/${cardId}/authorize`
      const idempotencyKey = newKey()
      const bodies = [
        '{"data":{"attributes":{"amount":100,"currency":"USD","merchant":{"name":"Books"}}}}',
        '{ "data" : {\n"attributes":\t{"merchant":{"name":"Books"},"currency":"USD","amount":100} } }\r\n',
        '{"data":{"attributes":{"amount":1e2,"currency":"\\u0055SD","merchant":{"name":"Books"}}}}',
      ]
      const [first, ...repeats] = await runInOrder(bodies, (body) => world.send('POST', path, { body, idempotencyKey }))
      expectFirst(first)
      for (const repeat of repeats) expectReplay(repeat, first)
    })
  })

  describe('other requests', () => {
    test('a request with a used key but other attributes or path is a conflict and moves no money', async () => {
      const [cardId, otherCardId] = [await world.issueCard(), await world.issueCard()]
      const sent = { idempotencyKey: newKey() }
      const first = await world.authorize(cardId, 100, sent)
      const before = await readBooks(world.store)
      const others = [
        await world.authorize(cardId, 101, sent),
        await world.authorize(otherCardId, 100, sent),
        await world.post('/agent-cards', card, sent),
        await world.post(
          `/simulations/card-transactions/${first.json.data.id}/capture`,
          { amount: 100, currency: 'USD' },
          sent,
        ),
        await world.authorize(cardId, 0, sent),
        await world.send('POST', `/simulations/agent-cards/${cardId}/authorize`, { ...sent, body: '{' }),
      ]
      for (const answer of others) {
        expectRefusal(answer, 'conflict', keySource)
        expect(isReplay(answer)).toBe(false)
      }
      expect(await readBooks(world.store)).toEqual(before)
      expectReplay(await world.authorize(cardId, 100, sent), first)
    })

    test('a request with a used key but another query does not count as a repeat', async () => {
      const sent = { idempotencyKey: newKey() }
      await world.post('/agent-cards', card, sent)
      const answer = await world.post('/agent-cards?dry=1', card, sent)
      expect(isReplay(answer)).toBe(false)
      expect([400, 409]).toContain(answer.status)
    })

    test('the same request with a new key is a new operation', async () => {
      const answers = await runInOrder([newKey(), newKey()], (idempotencyKey) =>
        world.post('/agent-cards', card, { idempotencyKey }),
      )
      expect(new Set(answers.map(({ json }) => json.data.id)).size).toBe(2)
    })
  })
})

async function runInOrder<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await run(item))
  return results
}
