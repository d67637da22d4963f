import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Inviters, inviters, person } from './world.ts'

onEachDatabase('customers', (database) => {
  let world: World
  let us: Inviters
  /** A customer that is connected to both agents of the seeded organization. */
  let customerId: string

  beforeAll(async () => {
    world = await createWorld(database)
    us = await inviters(world)
  })
  afterAll(() => world.drop())

  beforeEach(async () => {
    customerId = await connect(person(), [us.agentId, us.second.agentId])
  })

  const asParty = () => ({ key: world.apiKey })

  async function connect(recipient: ReturnType<typeof person>, agentIds: string[], more = {}): Promise<string> {
    let id = ''
    for (const agentId of agentIds) {
      const invitation = await us.pending({ recipient, agentId, permissions: ['cards.read', 'wallets.read'], ...more })
      const path = `/simulations/customer-invitations/${invitation.id}/accept`
      id = (await world.post(path, {}, asParty())).json.data.relationships.customerParty.data.id
    }
    return id
  }

  const card = (customerPartyId: string) => ({
    merchant: { name: 'Books' },
    maximumAmount: 5000,
    currency: 'USD',
    customerPartyId,
  })

  test('accepting an invitation creates a customer with its own wallet and the requested grants', async () => {
    const { json } = await world.get(`/customers/${customerId}`, asParty())
    expect(json.data.attributes).toMatchObject({
      name: expect.stringMatching(/@example\.com$/),
      email: expect.stringMatching(/@example\.com$/),
      delegation: { status: 'ACTIVE', permissions: ['cards.read', 'wallets.read'], revokedAt: null },
    })
    expect(json.data.attributes.agents).toHaveLength(2)
    expect(json.data.attributes.agents[0]).toMatchObject({ status: 'ACTIVE', limits: null })
    const wallets = await world.get(`/wallets?customerPartyId=${customerId}`)
    expect(wallets.json.data).toHaveLength(1)
    expect(wallets.json.data[0].attributes).toMatchObject({ isDefault: true, balance: { available: 0, total: 0 } })
    expect((await world.post('/agent-cards', card(customerId))).status).toBe(200)
  })

  test("an agent may do only what the customer's grant permits", async () => {
    const limited = await connect(person(), [us.agentId], { permissions: ['wallets.read'] })
    expect((await world.get(`/wallets?customerPartyId=${limited}`)).status).toBe(200)
    expect((await world.post('/agent-cards', card(limited))).status).toBe(403)
  })

  test('an agent can read a customer only if this agent itself has a grant from the customer', async () => {
    const { json } = await world.get(`/customers/${customerId}`)
    expect(json.data.attributes.agents.map(({ id }: { id: string }) => id)).toStrictEqual([us.agentId])
    const only = await connect(person(), [us.agentId])
    for (const key of [us.second.agentKey, us.other.apiKey, us.other.agentKey]) {
      const customer = await world.get(`/customers/${only}`, { key })
      const missing = `pty_${'0'.repeat(32)}`
      const unknown = await world.get(`/customers/${missing}`, { key })
      expect([customer.status, unknown.status]).toStrictEqual([404, 404])
      expect(customer.json.errors[0].detail.replace(only, missing)).toBe(unknown.json.errors[0].detail)
    }
  })

  test("removing a customer revokes all its grants and ends the agents' access to it and its cards", async () => {
    const issued = (await world.post('/agent-cards', card(customerId))).json.data.id
    const removed = await world.send('DELETE', `/customers/${customerId}`, asParty())
    expect(removed.status).toBe(200)
    expect(removed.json.meta).toStrictEqual({ deleted: true })
    expect(removed.json.data.attributes).toMatchObject({
      delegation: { status: 'REVOKED', revokedAt: expect.any(String) },
      agents: [{ status: 'REVOKED' }, { status: 'REVOKED' }],
    })
    const afterwards = [
      await world.post('/agent-cards', card(customerId)),
      await world.get(`/agent-cards/${issued}/details?customerPartyId=${customerId}`),
      await world.get(`/wallets?customerPartyId=${customerId}`),
      await world.post(`/simulations/agent-cards/${issued}/authorize`, {
        amount: 100,
        currency: 'USD',
        merchant: { name: 'Books' },
        customerPartyId: customerId,
      }),
    ]
    expect(afterwards.map(({ status }) => status)).toStrictEqual([403, 403, 403, 403])
    const read = await world.get(`/customers/${customerId}`, asParty())
    expect(read.json.data).toStrictEqual(removed.json.data)
    const active = await world.get('/customers?limit=100', asParty())
    expect(active.text).not.toContain(customerId)
    const again = await world.send('DELETE', `/customers/${customerId}`, asParty())
    expect([again.status, again.json.data]).toStrictEqual([200, removed.json.data])
  })

  test('removing a customer needs an Idempotency-Key, and a repeat gets the first response', async () => {
    const path = `/customers/${customerId}`
    expect((await world.send('DELETE', path, { ...asParty(), idempotencyKey: null })).status).toBe(400)
    const first = await world.send('DELETE', path, { ...asParty(), idempotencyKey: customerId })
    const second = await world.send('DELETE', path, { ...asParty(), idempotencyKey: customerId })
    expect([second.text, second.headers.get('x-idempotency-replayed')]).toStrictEqual([first.text, 'true'])
  })

  test('removing a customer’s agent revokes the agent’s grant; removing the last agent sets meta.deleted', async () => {
    const removeAgent = (agentId: string) =>
      world.send('DELETE', `/customers/${customerId}/agents/${agentId}`, { ...asParty(), idempotencyKey: null })
    const first = await removeAgent(us.agentId)
    expect([first.status, first.json.meta]).toStrictEqual([200, {}])
    expect(first.json.data.attributes.delegation.status).toBe('ACTIVE')
    expect((await world.post('/agent-cards', card(customerId))).status).toBe(403)
    const second = await removeAgent(us.second.agentId)
    expect([second.status, second.json.meta]).toStrictEqual([200, { deleted: true }])
    expect((await removeAgent(us.other.agentId)).status).toBe(404)
  })

  test('the customer itself can revoke one grant, or disconnect and so revoke all of them', async () => {
    const simulate = (path: string) => world.send('POST', `/simulations/customers/${customerId}/${path}`, asParty())
    const revoked = await simulate(`agents/${us.agentId}/revoke`)
    expect([revoked.status, revoked.json.meta]).toStrictEqual([200, {}])
    expect((await world.post('/agent-cards', card(customerId))).status).toBe(403)
    const left = await simulate('disconnect')
    expect([left.status, left.json.meta]).toStrictEqual([200, { deleted: true }])
    expect(left.json.data.attributes.delegation.status).toBe('REVOKED')
  })

  test('another party cannot remove or disconnect a customer, or revoke its grants', async () => {
    const answers = []
    for (const key of [us.other.apiKey, us.other.agentKey]) {
      answers.push(
        await world.send('DELETE', `/customers/${customerId}`, { key }),
        await world.send('DELETE', `/customers/${customerId}/agents/${us.agentId}`, { key }),
        await world.send('POST', `/simulations/customers/${customerId}/agents/${us.agentId}/revoke`, { key }),
        await world.send('POST', `/simulations/customers/${customerId}/disconnect`, { key }),
      )
    }
    expect(answers.map(({ status }) => status)).toStrictEqual([404, 404, 404, 404, 403, 403, 404, 403])
    const { json } = await world.get(`/customers/${customerId}`, asParty())
    expect(json.data.attributes.delegation.status).toBe('ACTIVE')
  })

  test('accepting a new invitation renews the grant with the terms of that invitation', async () => {
    const before = (await world.get(`/customers/${customerId}`)).json.data.attributes
    await world.send('DELETE', `/customers/${customerId}`, asParty())
    const requestedGrant = { permissions: ['payments.read'], limits: { perTransaction: 900 } }
    const renewed = await connect({ type: 'email', value: before.email }, [us.agentId], requestedGrant)
    expect(renewed).toBe(customerId)
    const after = (await world.get(`/customers/${customerId}`)).json.data.attributes
    expect(after.delegation).toMatchObject({ id: before.delegation.id, status: 'ACTIVE', revokedAt: null })
    expect(after.agents).toMatchObject([{ permissions: ['payments.read'], limits: { perTransaction: 900 } }])
  })

  test('accepting an invitation cancels the other invitations of the same person for the same agent', async () => {
    const recipient = person()
    const [first, second] = [await us.pending({ recipient }), await us.pending({ recipient })]
    const other = await us.pending({ recipient, agentId: us.second.agentId })
    await world.post(`/simulations/customer-invitations/${first.id}/accept`, {}, asParty())
    expect(await us.read(second.id)).toMatchObject({ status: 'CANCELED', cancelReason: 'CONNECTION_ESTABLISHED' })
    expect(await us.read(other.id)).toMatchObject({ status: 'PENDING' })
  })

  describe('test customers', () => {
    const inviteTestCustomer = (attributes = {}, key = world.apiKey) =>
      world.post('/simulations/invite-customer', { agentIds: [us.agentId, us.second.agentId], ...attributes }, { key })

    test('a test customer is a party with a handle and one invitation for each agent', async () => {
      const { status, json } = await inviteTestCustomer({ type: 'ORG' })
      expect(status).toBe(200)
      expect(json.meta.customer).toStrictEqual({
        partyId: expect.stringMatching(/^pty_/),
        handle: expect.stringMatching(/^@test-customer-/),
        partyType: 'ORG',
      })
      expect(json.data).toHaveLength(2)
      for (const one of json.data) {
        expect(one.attributes).toMatchObject({
          status: 'PENDING',
          permissions: ['payments.create', 'payments.read', 'wallets.read'],
        })
        expect(one.relationships.customerParty).toStrictEqual({ data: null })
      }
      const { partyId } = json.meta.customer
      const [accepted, declined] = [
        await world.post(`/simulations/customer-invitations/${json.data[0].id}/accept`, { partyId }, asParty()),
        await world.post(`/simulations/customer-invitations/${json.data[1].id}/decline`, { partyId }, asParty()),
      ]
      expect(accepted.json.data.relationships.customerParty).toStrictEqual({ data: { type: 'party', id: partyId } })
      expect(declined.json.data.attributes.status).toBe('DECLINED')
      expect((await world.get(`/customers/${partyId}`, asParty())).json.data.attributes.agents).toHaveLength(1)
    })

    test('only the invited party can accept the invitation', async () => {
      const { json } = await inviteTestCustomer()
      for (const partyId of [us.partyId, us.other.partyId, customerId, `pty_${'0'.repeat(32)}`]) {
        const path = `/simulations/customer-invitations/${json.data[0].id}/accept`
        const { status, json: refused } = await world.post(path, { partyId }, asParty())
        expect([status, refused.errors[0].source]).toStrictEqual([422, { pointer: '/data/attributes/partyId' }])
      }
    })

    test('an accept request without a body acts for the invited party', async () => {
      const { json } = await inviteTestCustomer()
      const path = `/simulations/customer-invitations/${json.data[0].id}/accept`
      const { status, json: accepted } = await world.send('POST', path, asParty())
      expect(status).toBe(200)
      expect(accepted.data.relationships.customerParty.data.id).toBe(json.meta.customer.partyId)
    })

    test('an agent can invite a test customer only for itself', async () => {
      expect((await inviteTestCustomer({}, world.agentKey)).status).toBe(403)
      expect((await inviteTestCustomer({ agentIds: [us.agentId] }, world.agentKey)).status).toBe(200)
    })

    test('the simulation that invites a test customer does not exist in production', async () => {
      const production = await createWorld(database, { environment: 'production' })
      const { status } = await production.post('/simulations/invite-customer', {}, { key: production.apiKey })
      expect(status).toBe(404)
      await production.drop()
    })
  })
})
