import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { proveBooks, readAllRows } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addKey, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { created, ok, type Payer, payer } from './payer.ts'

const newcomer = { type: 'email', value: 'New.Person@example.org' }
const at = (pointer: string) => ({ source: { pointer: `/data/attributes/${pointer}` } })

const otherContacts = { email: 'other@example.com', phone: '+14155550123', handle: 'other' } as const

onEachDatabase('recipients of payments', (database) => {
  let world: World
  let self: Payer
  let other: OtherParty

  beforeAll(async () => {
    world = await createWorld(database)
    self = payer(world)
    other = await addParty(world, { party: otherContacts })
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  test.each([
    ['email', () => 'OTHER@Example.com'],
    ['phone', () => '+14155550123'],
    ['party_id', () => other.partyId],
    ['handle', () => '@Other'],
  ])('a payment finds a party by its %s', async (type, value) => {
    const { data } = ok(await self.pay(100, { type, value: value() })).json
    expect(data.relationships).toMatchObject({
      recipient: { data: { id: other.partyId } },
      recipientAgent: { data: null },
    })
    expect(data.attributes).toMatchObject({ status: 'COMPLETED', claimLink: null })
  })

  test.each([
    ['email', 'nobody'],
    ['phone', '4155550123'],
    ['party_id', 'pty_1'],
    ['party_id', `pty_${'0'.repeat(32)}`],
    ['agent_id', `agt_${'0'.repeat(32)}`],
    ['handle', 'other'],
    ['handle', '@unknown'],
    ['handle', '@other-unknown'],
  ])('a payment to the %s %s is refused with 422 at counterparty/value', async (type, value) => {
    expectRefusal(await self.pay(100, { type, value }), 'invalid_value', { status: 422, ...at('counterparty/value') })
  })

  test.each([
    ['amount', { amount: 0 }],
    ['amount', { amount: 1.5 }],
    ['currency', { currency: 'EUR' }],
    ['description', { description: 'x'.repeat(81) }],
    ['counterparty/type', { counterparty: { type: 'iban', value: 'x' } }],
    ['tags/a', { tags: { a: 1 } }],
  ])('a payment with an invalid %s is refused with 422', async (pointer, wrong) => {
    const right = { amount: 100, counterparty: { type: 'party_id', value: other.partyId } }
    const answer = await world.post('/payments', { ...right, ...wrong })
    expectRefusal(answer, 'invalid_value', { status: 422, ...at(pointer) })
  })
})

onEachDatabase('payments', (database) => {
  let world: World
  let self: Payer
  let other: OtherParty
  let ownAgent: { partyId: string; agentId: string | null }

  beforeEach(async () => {
    world = await createWorld(database)
    self = payer(world)
    other = await addParty(world, { party: otherContacts })
    ownAgent = await world.whoami()
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  test('a payment to a party arrives immediately, and both sides see it', async () => {
    const answer = ok(
      await self.pay(
        1500,
        { type: 'party_id', value: other.partyId },
        { description: 'Lunch', tags: { order: '7' }, currency: 'USD', disableNotifications: true },
      ),
    )
    const { data } = answer.json
    expect(data).toStrictEqual({
      type: 'payment',
      id: expect.stringMatching(/^pay_[0-9a-f]{32}$/),
      attributes: {
        amount: 1500,
        currency: 'USD',
        status: 'COMPLETED',
        description: 'Lunch',
        tags: { order: '7' },
        agentId: ownAgent.agentId,
        instanceId: 'run 1',
        createdAt: '2026-01-15T12:00:00.000Z',
        updatedAt: '2026-01-15T12:00:00.000Z',
        claimLink: null,
      },
      relationships: {
        sender: { data: { type: 'party', id: ownAgent.partyId } },
        senderAgent: { data: { type: 'agent', id: ownAgent.agentId } },
        recipient: { data: { type: 'party', id: other.partyId } },
        recipientAgent: { data: null },
        customerParty: { data: null },
        transaction: { data: { type: 'transaction', id: expect.stringMatching(/^txn_/) } },
        paymentRequest: { data: null },
      },
    })
    const { claimLink: _, ...attributes } = data.attributes
    expect(ok(await world.get(`/payments/${data.id}`)).json.data).toStrictEqual({ ...data, attributes })
    expect(await self.balance()).toEqual({ available: 248_500, total: 248_500, currency: 'USD' })
    expect(await self.balance({ key: other.apiKey })).toMatchObject({ available: 101_500, total: 101_500 })
    const received = ok(await world.get(`/payments/${data.id}`, { key: other.apiKey })).json.data
    expect(received.attributes).toMatchObject({ tags: {}, agentId: null, instanceId: null, description: 'Lunch' })
    const seen = async (key: string) => ok(await world.get('/transactions', { key })).json.data[0]
    const walletOf = async (key: string) => ok(await world.get('/wallets', { key })).json.data[0].id
    const [sent, inbound] = [await seen(world.agentKey), await seen(other.agentKey)]
    expect(sent).toStrictEqual({
      type: 'transaction',
      id: data.relationships.transaction.data.id,
      attributes: {
        amount: 1500,
        currency: 'USD',
        status: 'COMPLETED',
        transactionType: 'payment',
        direction: 'OUTBOUND',
        description: 'Lunch',
        createdAt: '2026-01-15T12:00:00.000Z',
        updatedAt: null,
        expectedAvailableAt: null,
      },
      relationships: {
        sourceParty: { data: { type: 'party', id: ownAgent.partyId } },
        destinationParty: { data: { type: 'party', id: other.partyId } },
        payment: { data: { type: 'payment', id: data.id } },
        transfer: { data: null },
        wallet: { data: { type: 'wallet', id: await walletOf(world.agentKey) } },
        subscription: { data: null },
      },
    })
    expect(inbound).toStrictEqual({
      ...sent,
      attributes: { ...sent.attributes, direction: 'INBOUND' },
      relationships: {
        ...sent.relationships,
        wallet: { data: { type: 'wallet', id: await walletOf(other.agentKey) } },
      },
    })
  })

  test('a payment to an agent, by its id or its handle, goes into the agent’s wallet', async () => {
    await world.store.transaction(async ({ db }) => {
      await db.updateTable('agents').set({ handle: '@other-shop' }).where('id', '=', other.agentId).execute()
    })
    for (const counterparty of [
      { type: 'agent_id', value: other.agentId },
      { type: 'handle', value: '@other-shop' },
    ]) {
      expect(ok(await self.pay(100, counterparty)).json.data.relationships).toMatchObject({
        recipient: { data: { id: other.partyId } },
        recipientAgent: { data: { id: other.agentId } },
      })
    }
    expect(await self.balance({ key: other.apiKey })).toMatchObject({ available: 100_200 })
  })

  test('a payment to a retired agent is refused', async () => {
    await world.store.transaction(async ({ db }) => {
      await db.updateTable('agents').set({ status: 'REVOKED' }).where('id', '=', other.agentId).execute()
    })
    const answer = await self.pay(100, { type: 'agent_id', value: other.agentId })
    expectRefusal(answer, 'invalid_value', { status: 422, ...at('counterparty/value') })
  })

  test('a payment to the payer itself is refused, however the recipient is given', async () => {
    await self.setParty(ownAgent.partyId, { phone: '+14155550199', handle: 'me' })
    const selfReferences = [
      { type: 'party_id', value: ownAgent.partyId },
      { type: 'agent_id', value: ownAgent.agentId },
      { type: 'email', value: 'owner@sandbox.example' },
      { type: 'phone', value: '+14155550199' },
      { type: 'handle', value: '@me' },
    ]
    for (const counterparty of selfReferences) {
      expectRefusal(await self.pay(100, counterparty), 'invalid_value', { status: 422, ...at('counterparty/value') })
    }
  })

  test('a payment above the available funds is refused at the amount, and no money moves', async () => {
    const to = { type: 'party_id', value: other.partyId }
    expectRefusal(await self.pay(250_001, to), 'conflict', at('amount'))
    expectRefusal(await self.pay(250_001, newcomer), 'conflict', at('amount'))
    expect(await self.balance()).toMatchObject({ available: 250_000 })
    expect(await self.status(created(await self.pay(250_000, to)))).toBe('COMPLETED')
    expectRefusal(await self.pay(1, to), 'conflict', at('amount'))
  })

  test('a payment out of or into a frozen wallet is refused', async () => {
    const to = { type: 'party_id', value: other.partyId }
    await self.freeze(other.partyId)
    expectRefusal(await self.pay(100, to), 'conflict')
    await self.freeze(other.partyId, 'active')
    await self.freeze(ownAgent.partyId)
    expectRefusal(await self.pay(100, to), 'conflict')
    expectRefusal(await self.pay(100, newcomer), 'conflict')
  })

  test('walletId must be the id of a wallet of the payer', async () => {
    const to = { type: 'party_id', value: other.partyId }
    const [wallet] = ok(await world.get('/wallets')).json.data
    expect(created(await self.pay(100, to, { walletId: wallet.id }))).toMatch(/^pay_/)
    for (const walletId of [other.walletId, `wal_${'0'.repeat(32)}`]) {
      expectRefusal(await self.pay(100, to, { walletId }), 'not_found', at('walletId'))
    }
  })

  test('a payment by an agent needs an instance id and the permission on the wallet', async () => {
    const to = { type: 'party_id', value: other.partyId }
    const answer = await self.pay(100, to, {}, { instanceId: null })
    expectRefusal(answer, 'missing_instance_id', { source: { header: 'X-Instance-ID' } })
    const [wallet] = ok(await world.get('/wallets')).json.data
    const { agentKey } = await addAgent(world, ownAgent.partyId, wallet.id, ['payments.read'])
    expectRefusal(await self.pay(100, to, {}, { key: agentKey }), 'forbidden')
    const reader = await addKey(world, { partyId: ownAgent.partyId, agentId: null, scopes: ['payments.read'] })
    expectRefusal(await self.pay(100, to, {}, { key: reader }), 'forbidden')
    const { data } = ok(await self.pay(100, to, {}, { key: world.apiKey, instanceId: null })).json
    expect(data.attributes).toMatchObject({ agentId: null, instanceId: null })
    expect(data.relationships.senderAgent).toEqual({ data: null })
  })

  test('replays of a payment repeat its claim link, which the database never contains, and pay nothing', async () => {
    const sent = { idempotencyKey: 'once' }
    const [knownPayee, unknown] = [{ type: 'party_id', value: other.partyId }, newcomer]
    const first = ok(await self.pay(100, knownPayee, {}, sent))
    const again = ok(await self.pay(100, knownPayee, {}, sent))
    expect(again.text).toBe(first.text)
    expect(again.headers.get('x-idempotency-replayed')).toBe('true')
    expectRefusal(await self.pay(101, knownPayee, {}, sent), 'conflict', { source: { header: 'Idempotency-Key' } })
    const more = { tags: { claimLink: 'a tag is no secret' } }
    const payment = ok(await self.pay(100, unknown, more, { idempotencyKey: 'twice' }))
    const replayed = ok(await self.pay(100, unknown, more, { idempotencyKey: 'twice' }))
    const { claimLink } = payment.json.data.attributes
    expect(claimLink).toMatch(/^http.*\/claim\/[\w-]{43}$/)
    expect(replayed.text).toBe(payment.text)
    expect(JSON.stringify(await readAllRows(world.store))).not.toContain(claimLink.slice(-43))
    expect(await self.balance()).toMatchObject({ available: 249_800 })
  })

  test('a payment to an unknown recipient holds the amount until the recipient joins and claims it', async () => {
    const { data } = ok(await self.pay(700, newcomer)).json
    expect(data.attributes).toMatchObject({ status: 'PENDING_CLAIM', claimLink: expect.any(String) })
    expect(data.relationships).toMatchObject({ recipient: { data: null }, transaction: { data: null } })
    expect(await self.balance()).toMatchObject({ available: 249_300, total: 250_000 })
    expect(ok(await world.get('/transactions')).json.data).toEqual([])
    const claimed = ok(await self.claim(data.id)).json.data
    expect(claimed.attributes).toMatchObject({ status: 'COMPLETED' })
    expect(claimed.attributes).not.toHaveProperty('claimLink')
    expect(await self.balance()).toMatchObject({ available: 249_300, total: 249_300 })
    const joined = claimed.relationships.recipient.data.id
    const theirs = await self.addPartyKey(joined)
    expect(await self.balance({ key: theirs })).toMatchObject({ available: 700, total: 700 })
    const next = ok(await self.pay(50, newcomer)).json.data
    expect(next.relationships.recipient).toEqual({ data: { type: 'party', id: joined } })
    const phone = { type: 'phone', value: '+4915112345678' }
    const byPhone = ok(await self.claim(created(await self.pay(5, phone)))).json.data.relationships.recipient.data.id
    expect(ok(await self.pay(5, phone)).json.data.relationships.recipient.data.id).toBe(byPhone)
  })

  test('a recipient who joins sees unclaimed payments on the default wallet; a claim pays into it', async () => {
    const [first, second] = [created(await self.pay(300, newcomer)), created(await self.pay(200, newcomer))]
    const late = await addParty(world, { party: { email: 'new.person@example.org' }, fundsCents: 0 })
    const claims = async () => ok(await world.get('/wallets', { key: late.apiKey })).json.data[0].attributes.claims
    expect(await claims()).toEqual({ amount: 500, count: 2 })
    // The recipient is a self-managed party, so only an API key of the party that manages the sandbox may simulate the
    // recipient's claim.
    ok(await self.claim(first, { key: world.apiKey }))
    expect(await claims()).toEqual({ amount: 200, count: 1 })
    ok(await self.cancel(second))
    expect(await claims()).toEqual({ amount: 0, count: 0 })
    expect(await self.balance({ key: late.apiKey })).toMatchObject({ available: 300 })
  })

  test('an unclaimed payment can be canceled by a request with or without a body', async () => {
    const [first, second] = [created(await self.pay(300, newcomer)), created(await self.pay(200, newcomer))]
    expect(ok(await self.cancel(first)).json.data.attributes.status).toBe('CANCELED')
    ok(await self.cancel(second, { attributes: {} }))
    expect(await self.balance()).toMatchObject({ available: 250_000, total: 250_000 })
  })

  test('a payment of another party is refused by every operation exactly like an unknown id', async () => {
    const theirs = created(await self.pay(100, newcomer, {}, { key: other.agentKey }))
    const none = `pay_${'0'.repeat(32)}`
    for (const key of [world.agentKey, world.apiKey]) {
      for (const act of [
        (id: string) => world.get(`/payments/${id}`, { key }),
        (id: string) => self.cancel(id, { key }),
        (id: string) => self.claim(id, { key }),
      ]) {
        const [one, missing] = [await act(theirs), await act(none)]
        expectRefusal(one, 'not_found')
        expect(one.text.replace(theirs, none).replace(/req_\w+/, '')).toBe(missing.text.replace(/req_\w+/, ''))
      }
    }
    const received = created(await self.pay(100, { type: 'party_id', value: other.partyId }))
    expectRefusal(await self.cancel(received, { key: other.apiKey }), 'not_found')
  })
})

onEachDatabase('payments in lists', (database) => {
  let world: World
  let self: Payer
  let other: OtherParty

  beforeAll(async () => {
    world = await createWorld(database)
    self = payer(world)
    other = await addParty(world)
    for (let count = 1; count <= 5; count++) {
      world.system.pass(1000)
      ok(await self.pay(count, { type: 'party_id', value: other.partyId }))
    }
    world.system.pass(1000)
    ok(await self.pay(9, { type: 'party_id', value: (await world.whoami()).partyId }, {}, { key: other.agentKey }))
    ok(
      await world.post(
        `/simulations/customers/${other.partyId}/transfers/deposit`,
        { amount: 77 },
        { key: other.apiKey },
      ),
    )
  })
  afterAll(() => world.drop())

  const amounts = async (path: string, key: string) => {
    const found: number[] = []
    let cursor: string | null = null
    do {
      const { json } = ok(await world.get(`${path}${cursor === null ? '' : `&cursor=${cursor}`}`, { key }))
      const { data, meta }: { data: Listed[]; meta: Meta } = json
      found.push(...data.map(({ attributes }) => attributes.amount))
      expect(meta.pagination.hasMore).toBe(meta.pagination.nextCursor !== null)
      cursor = meta.pagination.nextCursor
    } while (cursor !== null)
    return found
  }

  test.each([1, 2, 5, 100])('payments and transactions are listed newest first, in pages of %d', async (limit) => {
    expect(await amounts(`/payments?limit=${limit}`, world.agentKey)).toEqual([5, 4, 3, 2, 1])
    expect(await amounts(`/payments?limit=${limit}`, other.apiKey)).toEqual([9])
    expect(await amounts(`/transactions?limit=${limit}`, world.agentKey)).toEqual([9, 5, 4, 3, 2, 1])
    const theirs = await amounts(`/transactions?limit=${limit}`, other.apiKey)
    expect(theirs.slice(0, 2).sort()).toEqual([77, 9])
    expect(theirs.slice(2)).toEqual([5, 4, 3, 2, 1])
  })

  test('transactions can be filtered by type, counterparty, wallet and delegation', async () => {
    const { partyId } = await world.whoami()
    const [wallet] = ok(await world.get('/wallets')).json.data
    const all = [9, 5, 4, 3, 2, 1]
    expect(await amounts('/transactions?type=transfer', other.apiKey)).toEqual([77])
    expect(await amounts('/transactions?type=payment', other.apiKey)).toEqual(all)
    expect(await amounts('/transactions?type=all', other.apiKey)).toHaveLength(7)
    expect(await amounts(`/transactions?counterpartyPartyId=${other.partyId}`, world.apiKey)).toEqual(all)
    expect(await amounts(`/transactions?counterpartyPartyId=${partyId}`, world.apiKey)).toEqual([])
    expect(await amounts(`/transactions?walletId=${wallet.id}`, world.apiKey)).toEqual(all)
    expect(await amounts(`/transactions?walletId=${other.walletId}`, world.apiKey)).toEqual([])
    expect(await amounts('/transactions?delegated=true', world.apiKey)).toEqual([])
    expect(await amounts('/transactions?delegated=false', world.apiKey)).toEqual(all)
    for (const query of ['type=card', 'delegated=1', 'walletId=x', 'partyId=x']) {
      const source = { parameter: query.replace(/=.*/, '') }
      expectRefusal(await world.get(`/transactions?${query}`), 'invalid_value', { source })
    }
  })

  test('a cursor is refused for another list or another party', async () => {
    const { nextCursor } = ok(await world.get('/payments?limit=2')).json.meta.pagination
    for (const [path, key] of [
      ['/transactions', world.agentKey],
      ['/payments', other.agentKey],
    ] as const) {
      const answer = await world.get(`${path}?cursor=${nextCursor}`, { key })
      expectRefusal(answer, 'invalid_value', { source: { parameter: 'cursor' } })
    }
  })

  test('only the two parties of a transaction can read it', async () => {
    const [{ id }] = ok(await world.get('/transactions')).json.data
    for (const key of [world.agentKey, world.apiKey, other.agentKey])
      ok(await world.get(`/transactions/${id}`, { key }))
    const third = await addParty(world)
    expectRefusal(await world.get(`/transactions/${id}`, { key: third.apiKey }), 'not_found')
    expectRefusal(await world.get(`/transactions/txn_${'0'.repeat(32)}`), 'not_found')
  })

  test('an agent that may only read its wallet sees no payments, transactions or approvals', async () => {
    const { partyId } = await world.whoami()
    const [wallet] = ok(await world.get('/wallets')).json.data
    const { agentKey } = await addAgent(world, partyId, wallet.id, ['wallets.read'])
    for (const path of ['/payments', '/transactions', '/approvals']) {
      expect(ok(await world.get(path, { key: agentKey })).json.data).toEqual([])
    }
    const [{ id }] = ok(await world.get('/payments')).json.data
    expectRefusal(await world.get(`/payments/${id}`, { key: agentKey }), 'forbidden')
  })

  test('the parameter partyId accepts the caller’s own party or a customer, and no other party', async () => {
    const { partyId } = await world.whoami()
    const customer = await world.customerPartyId()
    for (const path of ['/payments', '/wallets', '/approvals']) {
      ok(await world.get(`${path}?partyId=${partyId}`))
      ok(await world.get(`${path}?partyId=${customer}`))
      expectRefusal(await world.get(`${path}?partyId=${other.partyId}`), 'forbidden', {
        source: { parameter: 'customerPartyId' },
      })
    }
    const [wallet] = ok(await world.get(`/wallets?partyId=${customer}`)).json.data
    expect(wallet.relationships.party.data.id).toBe(customer)
    ok(await world.get(`/wallets/${wallet.id}?partyId=${customer}`))
  })
})

interface Listed {
  attributes: { amount: number }
}

interface Meta {
  pagination: { hasMore: boolean; nextCursor: string | null }
}
