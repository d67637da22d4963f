import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scopes } from '../../src/core/permissions.ts'
import { postAgentKey } from '../credentials/requests.ts'
import { proveBooks } from '../ledger/books.ts'
import { created, ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addKey, addParty, addUserToken, createWorld, type Sent, type World } from '../support/world.ts'

onEachDatabase('wallets', (database) => {
  let world: World
  let self: Payer
  let partyId: string
  let agentId: string
  let main: string

  beforeEach(async () => {
    world = await createWorld(database)
    self = payer(world)
    const identity = await world.whoami()
    partyId = identity.partyId
    agentId = String(identity.agentId)
    main = ok(await world.get('/wallets')).json.data[0].id
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const owner = (): Sent => ({ key: world.apiKey })
  const create = (attributes: object = { displayName: 'Savings' }, sent: Sent = {}) =>
    world.post('/wallets', attributes, { ...owner(), ...sent })
  const change = (id: string, attributes: object, sent: Sent = {}) =>
    world.send('PATCH', `/wallets/${id}`, { ...owner(), attributes, ...sent })
  const act = (id: string, action: string, sent: Sent = {}) =>
    world.send('POST', `/wallets/${id}/${action}`, { ...owner(), ...sent })
  const freeze = (id: string, action: 'freeze' | 'unfreeze' = 'freeze') => act(id, action, { idempotencyKey: null })
  const attach = (id: string, agent: string, sent: Sent = {}) =>
    world.post(`/wallets/${id}/agents`, { agentId: agent }, { ...owner(), ...sent })
  const detach = (id: string, agent: string, sent: Sent = {}) =>
    world.send('DELETE', `/wallets/${id}/agents/${agent}`, { ...owner(), ...sent })
  const read = async (id: string) => ok(await world.get(`/wallets/${id}`, owner())).json.data.attributes
  const transfer = (attributes: object, sent?: Sent) => world.post('/transfers/internal', attributes, sent)
  const at = (pointer: string) => ({ source: { pointer: `/data/attributes/${pointer}` } })

  describe('the lifecycle of a wallet', () => {
    test('a new wallet is empty and has the given attributes', async () => {
      // Ids begin with the time of creation, and the list is sorted by id, newest first. Advancing the clock makes the
      // new wallet newer than the main wallet, so the new wallet comes first.
      world.system.pass(1)
      const { data } = ok(await create({ displayName: 'Savings', description: 'For later', tags: { a: 'b' } })).json
      expect(data).toStrictEqual({
        type: 'wallet',
        id: expect.stringMatching(/^wal_[0-9a-f]{32}$/),
        attributes: {
          status: 'active',
          walletType: 'standard',
          isDefault: false,
          displayName: 'Savings',
          description: 'For later',
          tags: { a: 'b' },
          balance: { available: 0, total: 0, currency: 'USD' },
          claims: { amount: 0, count: 0 },
          depositInstructions: { bankName: 'Sandbox Bank', accountNumber: null, routingNumber: null },
          createdAt: '2026-01-15T12:00:00.001Z',
        },
        relationships: { party: { data: { type: 'party', id: partyId } } },
      })
      expect((await read(data.id)).depositInstructions).toEqual({
        bankName: 'Sandbox Bank',
        accountNumber: expect.stringMatching(/^[0-9]{10}$/),
        routingNumber: '000000000',
      })
      const listed = ok(await world.get('/wallets', owner())).json.data
      expect(listed.map(({ id }: { id: string }) => id)).toEqual([data.id, main])
      ok(await create({ displayName: 'Named', partyId }))
    })

    test('an update changes only the attributes that it contains, and merges tags', async () => {
      const id = created(await create({ displayName: 'Savings', description: 'Old', tags: { a: '1', b: '2' } }))
      const { data } = ok(await change(id, { displayName: 'New', tags: { a: null, c: '3' } })).json
      expect(data.attributes).toMatchObject({ displayName: 'New', description: 'Old', tags: { b: '2', c: '3' } })
      expect(await read(id)).toMatchObject({ displayName: 'New', description: 'Old', tags: { b: '2', c: '3' } })
      expect(ok(await change(id, { description: null })).json.data.attributes.description).toBeNull()
      const many = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`t${index}`, 'x']))
      expectRefusal(await change(id, { tags: many }), 'invalid_value', { status: 422, ...at('tags') })
      expectRefusal(await change(id, { displayName: null }), 'invalid_value', { status: 422, ...at('displayName') })
    })

    test('a party has one default wallet, which receives deposits', async () => {
      const id = created(await create())
      expect(ok(await act(id, 'default')).json.data.attributes.isDefault).toBe(true)
      ok(await act(id, 'default'))
      expect([await read(id), await read(main)].map(({ isDefault }) => isDefault)).toEqual([true, false])
      ok(await world.post(`/simulations/customers/${partyId}/transfers/deposit`, { amount: 700 }))
      expect((await read(id)).balance).toMatchObject({ available: 700 })
      // The agent still pays from the main wallet.
      ok(await self.pay(100, { type: 'email', value: 'customer@sandbox.example' }))
      expect((await read(main)).balance).toMatchObject({ available: 249_900 })
      ok(await act(main, 'default'))
      ok(await freeze(id))
      expectRefusal(await act(id, 'default'), 'conflict')
      const rows = ok(await world.get('/wallets', owner())).json.data
      expect(rows.filter((row: { attributes: { isDefault: boolean } }) => row.attributes.isDefault)).toHaveLength(1)
    })

    test('a frozen wallet sends and receives no money, but existing holds can be captured', async () => {
      const card = await world.issueCard()
      const purchase = created(await world.authorize(card, 1_000))
      const other = await world.issueCard()
      const savings = created(await create())
      ok(await transfer({ amount: 5, sourceWalletId: main, destWalletId: savings }, owner()))
      expect(ok(await freeze(main)).json.data.attributes.status).toBe('frozen')
      ok(await freeze(main))
      expectRefusal(await self.pay(1, { type: 'email', value: 'customer@sandbox.example' }), 'conflict')
      const funds = { amount: 1 }
      expectRefusal(await world.post(`/simulations/customers/${partyId}/transfers/deposit`, funds), 'conflict')
      const both = { sourceWalletId: main, destWalletId: savings }
      expectRefusal(await transfer({ amount: 1, ...both }), 'forbidden')
      expectRefusal(await transfer({ amount: 1, ...both }, owner()), 'conflict')
      expectRefusal(await transfer({ amount: 1, sourceWalletId: savings, destWalletId: main }, owner()), 'conflict')
      const declined = ok(await world.authorize(other, 1_000)).json.data.attributes
      expect(declined).toMatchObject({ status: 'declined', decline: { code: 'insufficient_funds' } })
      ok(await world.post(`/simulations/card-transactions/${purchase}/capture`, { amount: 1_000, currency: 'USD' }))
      expect(ok(await freeze(main, 'unfreeze')).json.data.attributes.status).toBe('active')
      expect(ok(await world.authorize(other, 1_000)).json.data.attributes.status).toBe('authorized')
    })

    test('a repeated creation makes no second wallet; simultaneous freezes and unfreezes all succeed', async () => {
      const sent = { idempotencyKey: 'wallet' }
      const first = ok(await create(undefined, sent))
      const again = ok(await create(undefined, sent))
      expect(again.text).toBe(first.text)
      expect(again.headers.get('x-idempotency-replayed')).toBe('true')
      expectRefusal(await create({ displayName: 'Other' }, sent), 'conflict', { source: { header: 'Idempotency-Key' } })
      const missing = { source: { header: 'Idempotency-Key' } }
      expectRefusal(await create(undefined, { idempotencyKey: null }), 'invalid_value', missing)
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, index) => freeze(main, index % 2 === 0 ? 'freeze' : 'unfreeze')),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    })
  })

  describe('the agents of a wallet', () => {
    test('agents can be attached to a wallet, listed, and given this wallet as their default', async () => {
      const id = created(await create())
      const now = '2026-01-15T12:00:00.000Z'
      const { data } = ok(await attach(id, agentId)).json
      expect(data).toMatchObject({
        type: 'agent',
        id: agentId,
        attributes: { name: 'Sandbox shopper', status: 'ACTIVE' },
        meta: { walletAccess: { isDefault: false, attachedAt: now } },
      })
      expect(ok(await attach(id, agentId)).json.data).toEqual(data)
      const answer = ok(await world.get(`/wallets/${id}/agents`, owner())).json
      expect(answer).toEqual({ data: [data], meta: { pagination: { hasMore: false, nextCursor: null } } })
      const named = ok(await act(id, `agents/${agentId}/default`)).json.data
      expect(named.meta.walletAccess).toEqual({ isDefault: true, attachedAt: now })
      const [before] = ok(await world.get(`/wallets/${main}/agents`, owner())).json.data
      expect(before.meta.walletAccess.isDefault).toBe(false)
      // The agent now pays from the new wallet, which is empty.
      const paid = await self.pay(1, { type: 'email', value: 'customer@sandbox.example' })
      expectRefusal(paid, 'conflict', at('amount'))
    })

    test('the agents of a wallet are listed in pages', async () => {
      const ids = [agentId]
      for (const name of ['One', 'Two']) {
        world.system.pass(1)
        ids.unshift(created(await world.post('/agents', { name }, owner())))
      }
      const first = ok(await world.get(`/wallets/${main}/agents?limit=2`, owner())).json
      const cursor = first.meta.pagination.nextCursor
      const second = ok(await world.get(`/wallets/${main}/agents?limit=2&cursor=${cursor}`, owner())).json
      expect([...first.data, ...second.data].map(({ id }: { id: string }) => id)).toEqual(ids)
      expect(second.meta.pagination.hasMore).toBe(false)
      const other = created(await create())
      const foreign = await world.get(`/wallets/${other}/agents?cursor=${cursor}`, owner())
      expectRefusal(foreign, 'invalid_value', { source: { parameter: 'cursor' } })
      ok(await world.send('DELETE', `/agents/${ids[0]}`, owner()))
      expect(ok(await world.get(`/wallets/${main}/agents`, owner())).json.data).toHaveLength(2)
      expectRefusal(await attach(other, String(ids[0])), 'conflict', at('agentId'))
    })

    test('an agent that is detached from its wallet can no longer pay from the wallet or use cards', async () => {
      const card = await world.issueCard()
      const purchase = created(await world.authorize(card, 1_000))
      const sent = { idempotencyKey: 'detach' }
      const answer = ok(await detach(main, agentId, sent))
      expect(answer.json).toStrictEqual({ data: { type: 'agent', id: agentId }, meta: { deleted: true } })
      expect(ok(await detach(main, agentId, sent)).text).toBe(answer.text)
      expectRefusal(await detach(main, agentId), 'not_found')
      expectRefusal(await act(main, `agents/${agentId}/default`), 'not_found')
      for (const path of [`/agent-cards/${card}`, `/agent-cards/${card}/details`]) {
        expectRefusal(await world.get(path), 'forbidden')
      }
      expect(ok(await world.get('/agent-cards')).json.data).toEqual([])
      expectRefusal(await world.authorize(card, 1), 'forbidden')
      const captured = await world.post(`/simulations/card-transactions/${purchase}/capture`, {
        amount: 1,
        currency: 'USD',
      })
      expectRefusal(captured, 'forbidden')
      const again = { merchant: { name: 'Books' }, maximumAmount: 1, currency: 'USD' }
      expectRefusal(await world.post('/agent-cards', again), 'forbidden')
      expectRefusal(await self.pay(1, { type: 'email', value: 'customer@sandbox.example' }), 'forbidden')
      expectRefusal(
        await self.pay(1, { type: 'email', value: 'customer@sandbox.example' }, { walletId: main }),
        'forbidden',
      )
      // If an agent has no wallets, the first wallet that is attached to it becomes its default.
      expect(ok(await attach(main, agentId)).json.data.meta.walletAccess.isDefault).toBe(true)
      ok(await world.get(`/agent-cards/${card}`))
    })
  })

  describe('a transfer between wallets', () => {
    test('a transfer moves money, and a repeat with the same key moves none', async () => {
      const id = created(await create())
      ok(await attach(id, agentId))
      const sent = { idempotencyKey: 'internal' }
      const between = { sourceWalletId: main, destWalletId: id }
      const draft = { amount: 900, ...between, description: 'Put aside', tags: { a: 'b' } }
      const answer = ok(await transfer(draft, sent))
      const now = '2026-01-15T12:00:00.000Z'
      expect(answer.json.data).toStrictEqual({
        type: 'transfer',
        id: expect.stringMatching(/^tfr_[0-9a-f]{32}$/),
        attributes: {
          type: 'internal',
          amount: 900,
          currency: 'USD',
          status: 'COMPLETED',
          method: null,
          rail: null,
          description: 'Put aside',
          tags: { a: 'b' },
          externalAccountDisplayMask: null,
          expectedAvailableAt: null,
          failure: null,
          return: null,
          submittedAt: now,
          settledAt: now,
          agentId,
          instanceId: 'run 1',
          createdAt: now,
          updatedAt: now,
        },
        relationships: {
          party: { data: { type: 'party', id: partyId } },
          wallet: { data: { type: 'wallet', id: main } },
          destWallet: { data: { type: 'wallet', id } },
          externalAccount: { data: null },
          transaction: { data: null },
        },
      })
      expect(ok(await transfer(draft, sent)).text).toBe(answer.text)
      expect((await read(main)).balance).toMatchObject({ available: 249_100, total: 249_100 })
      expect((await read(id)).balance).toMatchObject({ available: 900, total: 900 })
      expect(ok(await world.get('/transactions')).json.data).toEqual([])
      ok(await transfer({ amount: 900, sourceWalletId: id, destWalletId: main, partyId }, owner()))
      await Promise.all(Array.from({ length: 5 }, () => transfer({ amount: 100, ...between })))
      expect((await read(main)).balance).toMatchObject({ available: 249_500 })
    })

    test('a transfer to the same wallet, without funds or without permission is refused', async () => {
      const id = created(await create())
      const between = { sourceWalletId: main, destWalletId: id }
      expectRefusal(await transfer({ amount: 250_001, ...between }, owner()), 'conflict', at('amount'))
      const itself = { amount: 1, sourceWalletId: main, destWalletId: main }
      expectRefusal(await transfer(itself), 'invalid_value', { status: 422, ...at('destWalletId') })
      expectRefusal(await transfer({ amount: 0, ...between }), 'invalid_value', { status: 422, ...at('amount') })
      expectRefusal(await transfer({ amount: 1, ...between }, { instanceId: null }), 'missing_instance_id', {
        source: { header: 'X-Instance-ID' },
      })
      expectRefusal(await transfer({ amount: 1, ...between }), 'forbidden')
      expectRefusal(await transfer({ amount: 1, sourceWalletId: id, destWalletId: main }), 'forbidden')
      const other = await addParty(world)
      const out = { amount: 1, sourceWalletId: main, destWalletId: other.walletId }
      expectRefusal(await transfer(out), 'not_found', at('destWalletId'))
      const into = { amount: 1, sourceWalletId: other.walletId, destWalletId: main }
      expectRefusal(await transfer(into), 'not_found', at('sourceWalletId'))
      expectRefusal(await transfer({ ...into, partyId: other.partyId }), 'forbidden', at('customerPartyId'))
      expect((await read(main)).balance).toMatchObject({ available: 250_000 })
    })

    test('a transfer for a customer is refused if the grant lacks the permission', async () => {
      const customer = await world.customerPartyId()
      const key = await self.addPartyKey(customer)
      const [{ id: theirs }] = ok(await world.get('/wallets', { key })).json.data
      const id = created(await create(undefined, { key }))
      const draft = { amount: 300, sourceWalletId: theirs, destWalletId: id }
      ok(await transfer({ ...draft, customerPartyId: customer }))
      const made = created(await transfer({ ...draft, partyId: customer }))
      expect(ok(await world.get(`/transfers?partyId=${customer}`)).json.data).toHaveLength(2)
      ok(await world.get(`/transfers/${made}?customerPartyId=${customer}`))
      expectRefusal(await world.get(`/transfers/${made}`), 'not_found')
      await world.store.transaction(async ({ db }) => {
        const permissions = JSON.stringify(['wallets.read'])
        await db.updateTable('delegations').set({ permissions }).where('customerPartyId', '=', customer).execute()
      })
      expectRefusal(await transfer({ ...draft, partyId: customer }), 'forbidden', at('customerPartyId'))
      // The missing permission is reported before the invalid amount.
      const wrong = await transfer({ ...draft, amount: 0, partyId: customer })
      expectRefusal(wrong, 'forbidden', at('customerPartyId'))
    })

    test('a transfer between wallets counts toward no limit', async () => {
      const id = created(await create())
      await self.setLimits('parties', partyId, { perDay: 500 })
      ok(await transfer({ amount: 5_000, sourceWalletId: main, destWalletId: id }, owner()))
      ok(await self.pay(500, { type: 'email', value: 'customer@sandbox.example' }))
      expect(ok(await world.get('/payments')).json.data.map(statusOf)).toEqual(['COMPLETED'])
    })

    test('transfers of all types are in one list, newest first', async () => {
      const id = created(await create())
      const deposit = created(
        await world.post(`/simulations/customers/${partyId}/transfers/deposit`, { amount: 5, walletId: id }, owner()),
      )
      const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' }
      const beneficiary = { name: 'Acme', accountNumber: '000123456789', routingNumber: '021000021', address }
      const wire = created(await world.post('/wire', { amount: 7, currency: 'USD', beneficiary }))
      const internal = created(await transfer({ amount: 3, sourceWalletId: id, destWalletId: main }, owner()))
      ok(await self.pay(1, { type: 'email', value: 'customer@sandbox.example' }))
      const ids = async (sent: Sent, query = '') =>
        ok(await world.get(`/transfers${query}`, sent)).json.data.map((row: { id: string }) => row.id)
      const newest = [internal, wire, deposit].sort().reverse()
      expect(await ids(owner())).toEqual(newest)
      expect(await ids(owner(), '?limit=1')).toEqual(newest.slice(0, 1))
      // The agent is not attached to the new wallet, so it cannot see the two transfers that use that wallet.
      expect(await ids({})).toEqual([wire])
      expectRefusal(await world.get(`/transfers/${deposit}`), 'forbidden')
      const types = { [deposit]: 'deposit', [wire]: 'withdrawal', [internal]: 'internal' }
      for (const [transferId, type] of Object.entries(types)) {
        expect(ok(await world.get(`/transfers/${transferId}`, owner())).json.data.attributes.type).toBe(type)
      }
    })
  })

  test('neither an agent nor an API key without the necessary scopes can administer wallets', async () => {
    const id = created(await create())
    const body = { attributes: { agentId } }
    const admin: [string, string, Sent?][] = [
      ['POST', '/wallets', { attributes: { displayName: 'Mine' } }],
      ['PATCH', `/wallets/${main}`, { attributes: { displayName: 'Mine' } }],
      ['POST', `/wallets/${id}/default`],
      ['POST', `/wallets/${main}/freeze`],
      ['POST', `/wallets/${main}/unfreeze`],
      ['GET', `/wallets/${main}/agents`],
      ['POST', `/wallets/${id}/agents`, body],
      ['POST', `/wallets/${main}/agents/${agentId}/default`],
      ['DELETE', `/wallets/${main}/agents/${agentId}`],
    ]
    const without = scopes.filter((scope) => !scope.startsWith('wallets.') && scope !== 'agents.update')
    const key = await addKey(world, { partyId, agentId: null, scopes: without })
    const before = ok(await world.get('/wallets', owner())).text
    for (const [method, path, sent] of admin) {
      expectRefusal(await world.send(method, path, sent), 'forbidden')
      expectRefusal(await world.send(method, path, { ...sent, key }), 'forbidden')
    }
    const draft = { amount: 1, sourceWalletId: main, destWalletId: id }
    expectRefusal(await transfer(draft, { key }), 'forbidden')
    for (const path of ['/transfers', '/transfers/tfr_x']) expectRefusal(await world.get(path, { key }), 'forbidden')
    expect(ok(await world.get('/wallets', owner())).text).toBe(before)
    const { token } = await addUserToken(world, partyId)
    ok(await create(undefined, { key: token }))
  })

  test("another party's wallets, agents and transfers look as if they did not exist", async () => {
    const other = await addParty(world)
    const transferId = created(
      await world.post(
        `/simulations/customers/${other.partyId}/transfers/deposit`,
        { amount: 5 },
        { key: other.apiKey },
      ),
    )
    for (const id of [other.walletId, 'wal_missing']) {
      const answers = [
        await change(id, { displayName: 'Theirs' }),
        await act(id, 'default'),
        await freeze(id),
        await freeze(id, 'unfreeze'),
        await world.get(`/wallets/${id}/agents`, owner()),
        await attach(id, agentId),
        await act(id, `agents/${other.agentId}/default`),
        await detach(id, other.agentId),
      ]
      for (const answer of answers) expectRefusal(answer, 'not_found')
    }
    for (const agent of [other.agentId, `agt_${'0'.repeat(32)}`]) {
      expectRefusal(await attach(main, agent), 'not_found', at('agentId'))
      expectRefusal(await detach(main, agent), 'not_found')
      expectRefusal(await act(main, `agents/${agent}/default`), 'not_found')
    }
    for (const id of [transferId, 'tfr_missing']) {
      expectRefusal(await world.get(`/transfers/${id}`, owner()), 'not_found')
    }
    expect(ok(await world.get('/transfers', owner())).json.data).toEqual([])
    const made = await create({ displayName: 'Theirs', partyId: other.partyId })
    expectRefusal(made, 'forbidden', at('partyId'))
  })

  test('a new agent pays from the wallet that was chosen when it was created', async () => {
    const id = created(await create())
    ok(await transfer({ amount: 2_000, sourceWalletId: main, destWalletId: id }, owner()))
    const agent = created(await world.post('/agents', { name: 'Saver', walletId: id }, owner()))
    const { agentKey } = ok(await postAgentKey(world, agent)).json.data.attributes
    ok(await self.pay(500, { type: 'email', value: 'customer@sandbox.example' }, {}, { key: agentKey }))
    expect((await read(id)).balance).toMatchObject({ available: 1_500 })
  })
})

function statusOf({ attributes }: { attributes: { status: string } }): string {
  return attributes.status
}
