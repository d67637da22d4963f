import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../support/databases.ts'
import {
  type Answer,
  addAgent,
  addKey,
  addParty,
  createWorld,
  type OtherParty,
  revokeKey,
  type World,
} from '../support/world.ts'
import { proveBooks, readBooks } from './books.ts'
import { expectRefusal } from './refusals.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Books' } }
const keySource = { source: { header: 'Idempotency-Key' } }
const second = 1000
const hour = 3600 * second

describe.each(databases)('idempotency on $name', (database) => {
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

  const isReplay = ({ headers }: Answer) => headers.get('x-idempotency-replayed') === 'true'

  function expectReplay(answer: Answer, original: Answer): void {
    expect(isReplay(answer)).toBe(true)
    expect(answer.text).toBe(original.text)
    expect(answer.status).toBe(original.status)
  }

  function expectFirst(answer: Answer, status = 200): void {
    expect(answer.headers.has('x-idempotency-replayed')).toBe(false)
    expect(answer.status).toBe(status)
  }

  const transactionsOf = async (cardId: string) =>
    (await readBooks(world.store)).transactions.filter((transaction) => transaction.cardId === cardId)

  describe('the key', () => {
    test('is needed of every command and has 1 to 255 characters', async () => {
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

    test('may have 255 characters, of any kind that a header takes', async () => {
      for (const idempotencyKey of ['k'.repeat(255), 'é'.repeat(255), `"'; drop table x --`]) {
        const sent = { idempotencyKey }
        expectReplay(await world.post('/agent-cards', card, sent), await world.post('/agent-cards', card, sent))
      }
    })

    test('means nothing where none is needed', async () => {
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

  describe('a repeat', () => {
    test('replays an issued card byte for byte and makes no other', async () => {
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      expectFirst(first)
      expectReplay(await world.post('/agent-cards', card, sent), first)
      expectReplay(await world.post('/agent-cards', card, { ...sent, instanceId: 'another run' }), first)
      const ids = (await world.get('/agent-cards?limit=100')).json.data.map(({ id }: { id: string }) => id)
      expect(ids.filter((id: string) => id === first.json.data.id)).toHaveLength(1)
    })

    test('replays an authorization although the purchase moved on', async () => {
      const cardId = await world.issueCard()
      const sent = { idempotencyKey: newKey() }
      const first = await world.authorize(cardId, 100, sent)
      await world.post(`/simulations/card-transactions/${first.json.data.id}/reverse`, {})
      expectReplay(await world.authorize(cardId, 100, sent), first)
      expect(await transactionsOf(cardId)).toHaveLength(1)
    })

    test('replays a declined authorization', async () => {
      const cardId = await world.issueCard({ maximumAmount: 10 })
      const sent = { idempotencyKey: newKey() }
      const first = await world.authorize(cardId, 100, sent)
      expect(first.json.data.attributes.status).toBe('declined')
      expectReplay(await world.authorize(cardId, 100, sent), first)
      expect(await transactionsOf(cardId)).toHaveLength(1)
    })

    test('replays failures, support id and all', async () => {
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

    test('replays a failure although it would succeed by now', async () => {
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

    test('replays a malformed body, byte for byte the same', async () => {
      const sent = { idempotencyKey: newKey(), body: '{"data":' }
      const first = await world.send('POST', '/agent-cards', sent)
      expectFirst(first, 400)
      expectReplay(await world.send('POST', '/agent-cards', sent), first)
      const other = await world.send('POST', '/agent-cards', { ...sent, body: '{"data": ' })
      expectRefusal(other, 'conflict', keySource)
    })

    test('may order keys and space JSON otherwise', async () => {
      const cardId = await world.issueCard()
      const path = `/simulations/agent-cards/${cardId}/authorize`
      const idempotencyKey = newKey()
      const bodies = [
        '{"data":{"attributes":{"amount":100,"currency":"USD","merchant":{"name":"Books"}}}}',
        '{ "data" : {\n"attributes":\t{"merchant":{"name":"Books"},"currency":"USD","amount":100} } }\r\n',
        '{"data":{"attributes":{"amount":1e2,"currency":"\\u0055SD","merchant":{"name":"Books"}}}}',
      ]
      const [first, ...repeats] = await inOrder(bodies, (body) => world.send('POST', path, { body, idempotencyKey }))
      expectFirst(first as Answer)
      for (const repeat of repeats) expectReplay(repeat, first as Answer)
    })
  })

  describe('the same key for another request', () => {
    test('of other attributes, another path, method or more is a conflict and moves nothing', async () => {
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

    test('with another query is no repeat', async () => {
      const sent = { idempotencyKey: newKey() }
      await world.post('/agent-cards', card, sent)
      const answer = await world.post('/agent-cards?dry=1', card, sent)
      expect(isReplay(answer)).toBe(false)
      expect([400, 409]).toContain(answer.status)
    })

    test('after another key is a new operation', async () => {
      const answers = await inOrder([newKey(), newKey()], (idempotencyKey) =>
        world.post('/agent-cards', card, { idempotencyKey }),
      )
      expect(new Set(answers.map(({ json }) => json.data.id)).size).toBe(2)
    })
  })

  describe('at once', () => {
    test('1,000 requests with one key have one effect; the others replay it or are told that it runs', async () => {
      const cardId = await world.issueCard()
      const before = await readBooks(world.store)
      const sent = { idempotencyKey: newKey() }
      const answers = await Promise.all(Array.from({ length: 1000 }, () => world.authorize(cardId, 100, sent)))
      const after = await proveBooks(world.store)
      expect(after.entries.length - before.entries.length).toBe(2)
      expect(after.transactions.length - before.transactions.length).toBe(1)
      expect(after.keys - before.keys).toBe(1)
      const effects = answers.filter((answer) => answer.status === 200 && !isReplay(answer))
      expect(effects).toHaveLength(1)
      for (const answer of answers) {
        if (answer.status === 200) expect(answer.text).toBe(effects[0]?.text)
        else expectRefusal(answer, 'conflict')
      }
      expectReplay(await world.authorize(cardId, 100, sent), effects[0] as Answer)
    })

    test('50 different requests with one key have one effect', async () => {
      const cards = await Promise.all(Array.from({ length: 50 }, () => world.issueCard()))
      const sent = { idempotencyKey: newKey() }
      const answers = await Promise.all(cards.map((cardId) => world.authorize(cardId, 100, sent)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      for (const answer of answers.filter(({ status }) => status !== 200)) expect(answer.status).toBe(409)
      await proveBooks(world.store)
    })

    // SQLite has one writer: there is no time at which another request could see the original running.
    test.runIf(database.name === 'postgres')('a repeat while the original runs is a conflict, not a wait', async () => {
      const cardId = await world.issueCard()
      const { partyId } = await world.whoami()
      const sent = { idempotencyKey: newKey() }
      const { promise: end, resolve: finish } = Promise.withResolvers<void>()
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const original = world.store.transaction(async (tx) => {
        expect(await tx.tryLock(`idempotency ${partyId} ${sent.idempotencyKey}`)).toBe(true)
        begin()
        await end
      })
      await begun
      expectRefusal(await world.authorize(cardId, 100, sent), 'conflict')
      expectRefusal(await world.authorize(cardId, 200, sent), 'conflict')
      expectFirst(await world.authorize(cardId, 100, { idempotencyKey: newKey() }))
      finish()
      await original
      expectFirst(await world.authorize(cardId, 100, sent))
    })
  })

  describe('between parties and agents', () => {
    let other: OtherParty

    beforeAll(async () => {
      other = await addParty(world)
    })

    test('the same key of another party is independent', async () => {
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      const theirs = await world.post('/agent-cards', card, { ...sent, key: other.agentKey })
      expectFirst(theirs)
      expect(theirs.json.data.id).not.toBe(first.json.data.id)
      expectReplay(await world.post('/agent-cards', card, sent), first)
    })

    test('the same key for a customer and for oneself is independent', async () => {
      const customerPartyId = await world.customerPartyId()
      const sent = { idempotencyKey: newKey() }
      const own = await world.post('/agent-cards', card, sent)
      const customers = await world.post('/agent-cards', { ...card, customerPartyId }, sent)
      expectFirst(own)
      expectFirst(customers)
      expectReplay(await world.post('/agent-cards', { ...card, customerPartyId }, sent), customers)
    })

    test('another agent of the party never gets the recorded answer', async () => {
      const { partyId } = await world.whoami()
      const walletId = (await world.get('/wallets')).json.data[0].id
      const { agentKey } = await addAgent(world, partyId, walletId, ['cards.read'])
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      const theirs = await world.post('/agent-cards', card, { ...sent, key: agentKey })
      expect(isReplay(theirs)).toBe(false)
      expect(theirs.text).not.toContain(first.json.data.id)
      expect([200, 409]).toContain(theirs.status)
    })

    test('an API key of the party never gets the answer recorded for its agent', async () => {
      const cardId = await world.issueCard()
      const sent = { idempotencyKey: newKey() }
      await world.authorize(cardId, 100, sent)
      const answer = await world.authorize(cardId, 100, { ...sent, key: world.apiKey })
      expectRefusal(answer, 'conflict', keySource)
    })

    test('a second key of the same agent gets the recorded answer', async () => {
      const { partyId, agentId } = await world.whoami()
      const key = await addKey(world, { partyId, agentId, scopes: null })
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      expectReplay(await world.post('/agent-cards', card, { ...sent, key }), first)
    })

    test('a credential that was revoked, or lost its permission, gets no replay', async () => {
      const { partyId, agentId } = await world.whoami()
      const key = await addKey(world, { partyId, agentId, scopes: null })
      const sent = { idempotencyKey: newKey(), key }
      await world.post('/agent-cards', card, sent)
      await revokeKey(world, (await world.whoami(key)).keyId)
      expectRefusal(await world.post('/agent-cards', card, sent), 'unauthenticated')

      const simulator = await addKey(world, { partyId, agentId: null, scopes: ['payments.create'] })
      const cardId = await world.issueCard()
      const authorization = { idempotencyKey: newKey(), key: simulator }
      expectFirst(await world.authorize(cardId, 100, authorization))
      await setScopes(world, (await world.whoami(simulator)).keyId, [])
      expectRefusal(await world.authorize(cardId, 100, authorization), 'forbidden')
    })

    test('a customer that revoked its grant is not replayed to the agent', async () => {
      const customerPartyId = await world.customerPartyId()
      const sent = { idempotencyKey: newKey() }
      expectFirst(await world.post('/agent-cards', { ...card, customerPartyId }, sent))
      await setGrant(world, customerPartyId, 'REVOKED')
      const answer = await world.post('/agent-cards', { ...card, customerPartyId }, sent)
      expectRefusal(answer, 'forbidden', { source: { pointer: '/data/attributes/customerPartyId' } })
      await setGrant(world, customerPartyId, 'ACTIVE')
    })
  })

  describe('the window', () => {
    test.each([
      ['real time', async (ms: number) => world.system.pass(ms)],
      [
        'the sandbox clock',
        async (ms: number) => {
          await world.post('/simulations/clock/advance', { seconds: ms / second })
        },
      ],
    ])('of 48 hours is measured by %s', async (_, pass) => {
      const [kept, forgotten] = [newKey(), newKey()]
      const issue = (idempotencyKey: string) => world.post('/agent-cards', card, { idempotencyKey })
      const firsts = await inOrder([kept, forgotten], issue)
      await pass(48 * hour - second)
      expectReplay(await issue(kept), firsts[0] as Answer)
      await pass(2 * second)
      const again = await issue(forgotten)
      expectFirst(again)
      expect(again.json.data.id).not.toBe(firsts[1]?.json.data.id)
      expectReplay(await issue(forgotten), again)
    })

    test('is not extended by replays, and after it the key is free for another request', async () => {
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      world.system.pass(47 * hour)
      expectReplay(await world.post('/agent-cards', card, sent), first)
      world.system.pass(hour + second)
      expectFirst(await world.post('/agent-cards', { ...card, maximumAmount: 1 }, sent))
    })

    test('leaves nothing behind', async () => {
      await world.issueCard()
      world.system.pass(49 * hour)
      await world.issueCard()
      expect((await readBooks(world.store)).keys).toBe(1)
    })
  })

  describe('what is not recorded', () => {
    test('401, 403 of a gate, and a missing instance id', async () => {
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

    test('429', async () => {
      const limited = await createWorld(database, { rateLimit: 1 })
      const { idempotencyKey } = { idempotencyKey: newKey() }
      await limited.get('/whoami')
      const answer = await limited.post('/agent-cards', card, { idempotencyKey })
      expectRefusal(answer, 'rate_limited')
      expect((await readBooks(limited.store)).keys).toBe(0)
      await limited.drop()
    })

    test('an authorization that is not resolved; its repeat resolves it, once', async () => {
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
      expectReplay(await world.post(path, unresolved, sent), effects[0] as Answer)
      expect(effects[0]?.json.data.attributes).toMatchObject({ status: 'authorized', held: 100 })
      expect(await transactionsOf(cardId)).toHaveLength(1)
    })

    test('an authorization that stays unresolved keeps its key for good', async () => {
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

    test('a new key at the unresolved merchant is unresolved again', async () => {
      const path = `/simulations/agent-cards/${await world.issueCard()}/authorize`
      const unresolved = { ...purchase, merchant: { name: 'Sandbox Unresolved' } }
      for (const idempotencyKey of [newKey(), newKey()]) {
        const answer = await world.post(path, unresolved, { idempotencyKey })
        expectRefusal(answer, 'service_unavailable', { retryable: true })
      }
    })
  })
})

async function inOrder<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
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

function setGrant({ store }: World, customerPartyId: string, status: 'ACTIVE' | 'REVOKED'): Promise<void> {
  return store.transaction(async ({ db }) => {
    await db.updateTable('delegations').set({ status }).where('customerPartyId', '=', customerPartyId).execute()
  })
}
