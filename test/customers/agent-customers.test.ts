import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, createWorld, type World } from '../support/world.ts'
import { type Inviters, inviters, person } from './world.ts'

const dayMs = 24 * 60 * 60 * 1000

onEachDatabase("an agent's customers", (database) => {
  let world: World
  let us: Inviters
  /** An agent without permissions. The party of the agent sends all invitations for it. */
  let agentId: string

  beforeAll(async () => {
    world = await createWorld(database)
    us = await inviters(world)
    const walletId = (await world.get('/wallets')).json.data[0].id as string
    agentId = (await addAgent(world, us.partyId, walletId, [])).agentId
  })
  afterAll(() => world.drop())

  const asParty = () => ({ key: world.apiKey })
  const inviteFor = (id: string, attributes: object, sent = {}) =>
    world.post(
      `/agents/${id}/customers`,
      { recipients: [person()], permissions: ['payments.read'], ...attributes },
      { ...asParty(), ...sent },
    )
  const accept = (id: string) => world.post(`/simulations/customer-invitations/${id}/accept`, {}, asParty())

  test('an invitation to become a customer expires after seven days by default', async () => {
    const recipient = person()
    const { status, json, text } = await inviteFor(agentId, {
      recipients: [recipient],
      limits: { perTransaction: 500 },
      tags: { a: 'b' },
    })
    expect(status, text).toBe(200)
    expect(json.meta).toStrictEqual({ emailFailures: [], alreadyConnected: [] })
    expect(json.data).toStrictEqual([
      {
        type: 'customerInvitation',
        id: expect.stringMatching(/^adi_/),
        attributes: {
          recipient,
          url: expect.stringContaining('/connect/'),
          status: 'PENDING',
          permissions: ['payments.read'],
          limits: { perTransaction: 500 },
          tags: { a: 'b' },
          expiresAt: new Date(world.system.now() + 7 * dayMs).toISOString(),
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
        relationships: {
          agent: {
            data: {
              type: 'agent',
              id: agentId,
              attributes: { name: 'Another agent', description: null, status: 'ACTIVE' },
            },
          },
          customerParty: { data: null },
        },
      },
    ])
  })

  test('nobody is invited if any of the recipients cannot be invited', async () => {
    const recipients = [person(), { type: 'party_id', value: us.partyId }]
    const before = await world.get('/agents/invitations?limit=100', asParty())
    expect((await inviteFor(agentId, { recipients })).status).toBe(422)
    expect((await world.get('/agents/invitations?limit=100', asParty())).text).toBe(before.text)
  })

  test("an agent's customers are listed page by page, first the connected and then the invited ones", async () => {
    const walletId = (await world.get('/wallets')).json.data[0].id as string
    const ownAgent = await addAgent(world, us.partyId, walletId, [])
    const connected: string[] = []
    for (let count = 0; count < 2; count++) {
      world.system.pass(1)
      const invitation = await inviteFor(ownAgent.agentId, {})
      const accepted = await accept(invitation.json.data[0].id)
      connected.unshift(accepted.json.data.relationships.customerParty.data.id)
    }
    const invitedIds: string[] = []
    for (let count = 0; count < 3; count++) {
      world.system.pass(1)
      const recipient = person()
      await inviteFor(ownAgent.agentId, { recipients: [recipient] })
      invitedIds.unshift(recipient.value)
    }
    for (const limit of [1, 2, 3, 5, 100]) {
      const seen: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page: string = cursor === '' ? '' : `&cursor=${cursor}`
        const { json } = await world.get(`/agents/${ownAgent.agentId}/customers?limit=${limit}${page}`, {
          key: ownAgent.agentKey,
        })
        seen.push(...json.data.map(({ id }: { id: string }) => id))
        cursor = json.meta.pagination.nextCursor
        expect(json.data.length).toBeGreaterThan(0)
        expect(json.data.length).toBeLessThanOrEqual(limit)
      }
      expect(seen).toStrictEqual([...connected, ...invitedIds])
    }
  })

  test("removing a customer from an agent revokes the customer's grant", async () => {
    const invitation = await inviteFor(agentId, {})
    const accepted = await accept(invitation.json.data[0].id)
    const customerId = accepted.json.data.relationships.customerParty.data.id
    const removed = await world.send('DELETE', `/agents/${agentId}/customers/${customerId}`, asParty())
    expect([removed.status, removed.json.meta]).toStrictEqual([200, { deleted: true }])
    expect(removed.json.data).toMatchObject({ id: customerId, attributes: { status: 'REVOKED' } })
    expect((await world.get(`/customers/${customerId}`, asParty())).json.data.attributes.delegation.status).toBe(
      'REVOKED',
    )
  })

  test('invitations can be filtered by status, email address and agent, and can be revoked', async () => {
    const recipient = person()
    const [first, second] = [await us.pending({ recipient }), await us.pending({ recipient, agentId })]
    await world.post(`/simulations/customer-invitations/${first.id}/decline`, {}, asParty())
    const ids = async (query: string, key = world.apiKey) => {
      const { status, json } = await world.get(`/agents/invitations?customerEmail=${recipient.value}${query}`, { key })
      return status === 200 ? json.data.map(({ id }: { id: string }) => id) : status
    }
    expect((await ids('')).toSorted()).toStrictEqual([first.id, second.id].toSorted())
    expect(await ids('&status=DECLINED')).toStrictEqual([first.id])
    expect(await ids('&status=PENDING&status=EXPIRED')).toStrictEqual([second.id])
    expect(await ids(`&agentId=${agentId}`)).toStrictEqual([second.id])
    expect(await ids('&status=OPEN')).toBe(400)
    expect(await ids('', us.other.apiKey)).toStrictEqual([])
    expect(await ids('', world.agentKey)).toStrictEqual([first.id])
    expect(await ids(`&agentId=${agentId}`, world.agentKey)).toStrictEqual([])
    const path = `/agents/invitations/${second.id}`
    expect((await world.send('DELETE', path, { ...asParty(), idempotencyKey: null })).status).toBe(400)
    expect((await world.send('DELETE', path, { key: us.other.apiKey })).status).toBe(404)
    const revoked = await world.send('DELETE', path, { ...asParty(), idempotencyKey: second.id })
    expect([revoked.status, revoked.json.data.attributes.status]).toStrictEqual([200, 'CANCELED'])
    const again = await world.send('DELETE', path, { ...asParty(), idempotencyKey: second.id })
    expect(again.text).toBe(revoked.text)
  })

  test("to another party or agent, an agent's customers look as if they did not exist", async () => {
    const answers = [
      await world.get(`/agents/${agentId}/customers`, { key: us.other.apiKey }),
      await inviteFor(agentId, {}, { key: us.other.apiKey }),
      await world.send('DELETE', `/agents/${agentId}/customers/${await world.customerPartyId()}`, {
        key: us.other.apiKey,
      }),
      await world.get(`/agents/${agentId}/customers`, { key: world.agentKey }),
      await inviteFor(agentId, {}, { key: world.agentKey }),
    ]
    expect(answers.map(({ status }) => status)).toStrictEqual([404, 404, 404, 404, 404])
  })
})
