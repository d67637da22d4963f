import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectRefusal, withoutSupportId } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import {
  type Answer,
  addAgent,
  addDelegation,
  addKey,
  addParty,
  createWorld,
  type Sent,
  type World,
} from '../support/world.ts'
import { type Merchant, merchant, monthly, ok, proveCharges, termsOfParts } from './merchant.ts'

const missing = `sub_${'0'.repeat(32)}`

onEachDatabase('access to subscriptions', (database) => {
  let world: World
  let shop: Merchant
  let partyId: string
  let agentId: string
  let walletId: string
  let customerPartyId: string

  beforeAll(async () => {
    world = await createWorld(database)
    shop = merchant(world)
    const who = await world.whoami()
    partyId = who.partyId
    agentId = String(who.agentId)
    walletId = (await world.get('/wallets')).json.data[0].id
    customerPartyId = await world.customerPartyId()
  })
  afterAll(async () => {
    await proveCharges(world)
    await world.drop()
  })

  /**
   * Returns functions that each send the request of one operation on a subscription. If they are called in the returned
   * order, all operations except `resume` can succeed.
   */
  function attempts(id: string, sent: Sent = {}, customer?: string) {
    const party = customer === undefined ? {} : { customerPartyId: customer }
    const query = customer === undefined ? '' : `?customerPartyId=${customer}`
    const post =
      (path: string, attributes: object = {}) =>
      () =>
        world.post(path, { ...attributes, ...party }, sent)
    return {
      get: () => world.get(`/subscriptions/${id}${query}`, sent),
      checkout: post(`/simulations/subscriptions/${id}/checkout`, { card: 'approves' }),
      card: post(`/simulations/subscriptions/${id}/card`, { behavior: 'approves' }),
      'mark paid': post(`/subscriptions/${id}/payments/2/mark-paid`),
      resume: post(`/subscriptions/${id}/resume`),
      cancel: post(`/subscriptions/${id}/cancel`),
    }
  }
  const collection = (sent: Sent, customer?: string) => ({
    create: () => world.post('/subscriptions', { ...monthly, ...(customer && { customerPartyId: customer }) }, sent),
    list: () => world.get(`/subscriptions${customer === undefined ? '' : `?customerPartyId=${customer}`}`, sent),
  })

  async function outcomes(calls: Record<string, () => Promise<Answer>>): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const [name, call] of Object.entries(calls)) counts[name] = (await call()).status
    return counts
  }
  const all = (status: number, exceptions: Record<string, number> = {}) => ({
    get: status,
    checkout: status,
    card: status,
    'mark paid': status,
    resume: status,
    cancel: status,
    ...exceptions,
  })

  const listed = async (path: string, sent?: Sent): Promise<string[]> =>
    ok(await world.get(path, sent)).json.data.map(({ id }: { id: string }) => id)

  test('an agent, or an API key with every scope, may use every operation on subscriptions', async () => {
    for (const sent of [{}, { key: world.apiKey }, { key: world.apiKey, instanceId: null }]) {
      expect(await outcomes(collection(sent))).toEqual({ create: 200, list: 200 })
      expect(await outcomes(attempts(await shop.create(), sent))).toEqual(all(200, { resume: 409 }))
    }
  })

  test('an API key needs payments.read to read subscriptions, and payments.create to create or change them', async () => {
    const keyOf = (scopes: string[]) => addKey(world, { partyId, agentId: null, scopes })
    const [reads, creates, none] = [
      await keyOf(['payments.read']),
      await keyOf(['payments.create']),
      await keyOf(['cards.read']),
    ]
    const id = await shop.create()
    expect(await outcomes({ ...attempts(id, { key: reads }), ...collection({ key: reads }) })).toEqual(
      all(403, { get: 200, list: 200, create: 403 }),
    )
    expect(await outcomes({ ...attempts(id, { key: none }), ...collection({ key: none }) })).toEqual(
      all(403, { list: 403, create: 403 }),
    )
    const refused = await shop.get(id, { key: none })
    expectRefusal(refused, 'forbidden')
    expect(refused.json.errors[0].detail).toMatch(/payments\.read/)
    expect((await shop.read(id)).status).toBe('pending')
    expect(await outcomes({ ...attempts(id, { key: creates }), ...collection({ key: creates }) })).toEqual(
      all(200, { get: 403, resume: 409, list: 403, create: 200 }),
    )
  })

  test('an agent needs payments.read on the wallet to read subscriptions, and payments.create to create or change them', async () => {
    const keyOf = async (holds: string[]) => (await addAgent(world, partyId, walletId, holds)).agentKey
    const [none, reads] = [await keyOf(['cards.read', 'wallets.read']), await keyOf(['payments.read'])]
    const id = await shop.create()
    expect(await outcomes(collection({ key: none }))).toMatchObject({ create: 403 })
    expect(await outcomes(attempts(id, { key: none }))).toEqual(all(403))
    expect(await outcomes(attempts(id, { key: reads }))).toEqual(all(403, { get: 200 }))
    expect((await shop.read(id)).status).toBe('pending')
  })

  test('another party’s subscription looks as if it did not exist', async () => {
    const other = await addParty(world)
    const id = await shop.create()
    const nameless = (answer: Answer) => JSON.stringify(withoutSupportId(answer)).replaceAll(/sub_[0-9a-f]{32}/g, 'sub')
    for (const key of [other.agentKey, other.apiKey]) {
      const unknown = attempts(missing, { key })
      for (const [name, call] of Object.entries(attempts(id, { key }))) {
        const answer = await call()
        expectRefusal(answer, 'not_found')
        expect(nameless(answer)).toBe(nameless(await unknown[name as keyof typeof unknown]()))
      }
      expect(await listed('/subscriptions', { key })).toEqual([])
      for (const status of ['pending', 'active'])
        expect(await listed(`/subscriptions?status=${status}`, { key })).toEqual([])
    }
    expect((await shop.read(id)).status).toBe('pending')
    const key = { key: other.agentKey, idempotencyKey: 'the same key' }
    const [ours, theirs] = [
      await shop.create(monthly, { idempotencyKey: 'the same key' }),
      await shop.create(monthly, key),
    ]
    expect(ours).not.toBe(theirs)
    expect(await listed('/subscriptions', { key: other.apiKey })).toEqual([theirs])
  })

  describe('subscriptions for a customer', () => {
    test('an agent with the grant may use every operation, but one request reaches only one party’s subscriptions', async () => {
      const { id } = ok(await collection({}, customerPartyId).create()).json.data
      const subscription = await shop.create()
      expect(await listed(`/subscriptions?customerPartyId=${customerPartyId}`)).toEqual([id])
      expect(await listed('/subscriptions?limit=100')).not.toContain(id)
      expect(await outcomes(attempts(id))).toEqual(all(404))
      expect(await outcomes(attempts(subscription, {}, customerPartyId))).toEqual(all(404))
      expect(await outcomes(attempts(id, {}, customerPartyId))).toEqual(all(200, { resume: 409 }))
    })

    async function addCustomer(permissions: string[], status: 'ACTIVE' | 'REVOKED' = 'ACTIVE') {
      const customer = await addParty(world, { party: { partyType: 'PERSON' } })
      const { id } = ok(await world.post('/subscriptions', monthly, { key: customer.agentKey })).json.data
      await addDelegation(world, {
        customerPartyId: customer.partyId,
        agentPartyId: partyId,
        agentId,
        permissions: JSON.stringify(permissions),
        status,
        ...(status === 'REVOKED' ? { revokedAtMs: world.system.now() } : {}),
      })
      return { id, partyId: customer.partyId }
    }
    const statusesFor = async ({ id, partyId: party }: { id: string; partyId: string }, sent: Sent = {}) =>
      outcomes({ ...attempts(id, sent, party), ...collection(sent, party) })

    test('an agent is refused if its grant lacks the permission, is revoked or does not exist', async () => {
      const nothing = all(403, { list: 403, create: 403 })
      expect(await statusesFor(await addCustomer(['cards.read', 'wallets.read']))).toEqual(nothing)
      expect(await statusesFor(await addCustomer(['payments.read', 'payments.create'], 'REVOKED'))).toEqual(nothing)
      expect(await statusesFor({ id: missing, partyId: `pty_${'0'.repeat(32)}` })).toEqual(nothing)
      expect(await statusesFor(await addCustomer(['payments.read']))).toEqual(
        all(403, { get: 200, list: 200, create: 403 }),
      )
    })

    test('an API key cannot act for a customer', async () => {
      const sent = { key: world.apiKey }
      expect(await statusesFor({ id: missing, partyId: customerPartyId }, sent)).toEqual(
        all(403, { list: 403, create: 403 }),
      )
    })

    test('the refusal of a request for a customer points to customerPartyId', async () => {
      const party = `pty_${'0'.repeat(32)}`
      const pointer = { source: { pointer: '/data/attributes/customerPartyId' } }
      expectRefusal(await attempts(missing, {}, party).cancel(), 'forbidden', pointer)
      expectRefusal(await attempts(missing, {}, party).get(), 'forbidden', { source: { parameter: 'customerPartyId' } })
    })
  })

  test('an agent must send X-Instance-ID with every request that makes a change, except cancel', async () => {
    const id = await shop.create()
    const sent = { instanceId: null }
    const { create, list } = collection(sent)
    const { get, cancel, ...commands } = attempts(id, sent)
    for (const command of [...Object.values(commands), create]) {
      expectRefusal(await command(), 'missing_instance_id', { source: { header: 'X-Instance-ID' } })
    }
    expect([(await get()).status, (await list()).status]).toEqual([200, 200])
    expect((await shop.read(id)).status).toBe('pending')
    expect((await cancel()).status).toBe(200)
  })

  test('every request that makes a change needs an Idempotency-Key, and reads work without one', async () => {
    const id = await shop.create()
    const { get, ...commands } = attempts(id, { idempotencyKey: null })
    const { create, list } = collection({ idempotencyKey: null })
    for (const command of [...Object.values(commands), create]) {
      expectRefusal(await command(), 'invalid_value', { status: 400, source: { header: 'Idempotency-Key' } })
    }
    expect([(await get()).status, (await list()).status]).toEqual([200, 200])
  })

  test('subscriptions are listed in pages, newest first, with any filter; invalid parameters are refused', async () => {
    const { apiKey: key } = await addParty(world)
    const ids: string[] = []
    for (let count = 0; count < 7; count++) {
      world.system.pass(10)
      ids.unshift(await shop.create(termsOfParts(2), { key }))
    }
    const canceled = ids.filter((_, index) => index % 2 === 0)
    for (const id of canceled) ok(await shop.cancel(id, { key }))
    const pages = async (path: string) => {
      const found: string[] = []
      let cursor: string | null = null
      for (let count = 0; count < 10; count++) {
        const { json }: Answer = ok(await world.get(`${path}${cursor === null ? '' : `&cursor=${cursor}`}`, { key }))
        found.push(...json.data.map(({ id }: { id: string }) => id))
        cursor = json.meta.pagination.nextCursor
        expect(json.meta.pagination.hasMore).toBe(cursor !== null)
        if (cursor === null) return found
      }
      return found
    }
    expect(await pages('/subscriptions?limit=2')).toEqual(ids)
    expect(await pages('/subscriptions?limit=7')).toEqual(ids)
    expect(await pages('/subscriptions?limit=1&status=canceled')).toEqual(canceled)
    expect(await pages('/subscriptions?limit=2&status=pending')).toEqual(ids.filter((id) => !canceled.includes(id)))
    const { nextCursor } = (await world.get('/subscriptions?limit=2', { key })).json.meta.pagination
    const source = { parameter: 'cursor' }
    for (const path of [
      `/subscriptions?status=pending&cursor=${nextCursor}`,
      '/subscriptions?cursor=cur_x',
      `/agent-cards?cursor=${nextCursor}`,
    ]) {
      expectRefusal(await world.get(path, { key }), 'invalid_value', { status: 400, source })
    }
    for (const limit of ['0', '101', 'x', '1.5']) {
      expectRefusal(await world.get(`/subscriptions?limit=${limit}`, { key }), 'invalid_value', {
        status: 400,
        source: { parameter: 'limit' },
      })
    }
    expect((await world.get('/subscriptions?every=week', { key })).status).toBe(400)
    expect(ok(await world.get('/subscriptions?status=completed', { key })).json).toEqual({
      data: [],
      meta: { pagination: { hasMore: false, nextCursor: null } },
    })
  })

  test('the checkout secrets are shown only to credentials that may create subscriptions', async () => {
    const id = await shop.create()
    const customerSub = await shop.create({ ...monthly, customerPartyId })
    const key = (scopes: string[]) => addKey(world, { partyId, agentId: null, scopes })
    const reader = await key(['payments.read'])
    const both = await key(['payments.read', 'payments.create'])
    const { agentKey: readingAgent } = await addAgent(world, partyId, walletId, ['payments.read'])
    const granted = await addAgent(world, partyId, walletId, ['payments.read', 'payments.create'])
    await addDelegation(world, {
      agentPartyId: partyId,
      agentId: granted.agentId,
      customerPartyId,
      permissions: JSON.stringify(['payments.read']),
    })
    const forCustomer = `?customerPartyId=${customerPartyId}`
    const rows: [string, string, string, boolean][] = [
      ['a key with payments.create', both, id, true],
      ['the agent that created the subscription', world.agentKey, id, true],
      ['a key with only payments.read', reader, id, false],
      ['an agent with only payments.read', readingAgent, id, false],
      ['an agent with a grant of only payments.read', granted.agentKey, `${customerSub}${forCustomer}`, false],
      ['the agent that created the subscription for a customer', world.agentKey, `${customerSub}${forCustomer}`, true],
    ]
    for (const [who, credential, path, isShown] of rows) {
      const [subscriptionId, query = ''] = path.split('?')
      const one = (await world.get(`/subscriptions/${path}`, { key: credential })).json.data
      const list = (await world.get(`/subscriptions?limit=100&${query}`, { key: credential })).json.data
      for (const { attributes } of [one, list.find((row: { id: string }) => row.id === subscriptionId)]) {
        const secret = isShown ? expect.stringContaining('_secret_') : null
        const url = isShown ? expect.stringContaining(`/checkout/${subscriptionId}/`) : null
        expect(attributes, who).toMatchObject({ status: 'pending', clientSecret: secret, checkoutUrl: url })
      }
    }
  })
})

onEachDatabase('subscriptions in production', (database) => {
  test('production has subscriptions, but cannot simulate their checkout or card', async () => {
    const world = await createWorld(database, { environment: 'production' })
    try {
      const shop = merchant(world)
      const id = await shop.create()
      for (const key of [world.agentKey, world.apiKey]) {
        expectRefusal(await shop.checkout(id, 'approves', { key }), 'not_found')
        expectRefusal(await shop.card(id, 'approves', undefined, { key }), 'not_found')
      }
      expect((await shop.read(id)).status).toBe('pending')
      expect(ok(await shop.cancel(id)).json.data.attributes.status).toBe('canceled')
    } finally {
      await world.drop()
    }
  })
})
