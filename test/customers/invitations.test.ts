import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { delegable } from '../../src/core/permissions.ts'
import { catalogue } from '../../tools/index.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addKey, createWorld, type World } from '../support/world.ts'
import { type Inviters, inviters, person } from './world.ts'

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const dayMs = 24 * 60 * 60 * 1000

onEachDatabase('invitations', (database) => {
  let world: World
  let us: Inviters

  beforeAll(async () => {
    world = await createWorld(database)
    us = await inviters(world)
  })
  afterAll(() => world.drop())

  const at = (days: number, ms = 0) => new Date(world.system.now() + days * dayMs + ms).toISOString()

  test('an invitation for a deleted agent is refused with `conflict`, as the operation declares', async () => {
    const { data } = (await world.post('/agents', { name: 'Gone' }, { key: world.apiKey })).json
    expect((await world.send('DELETE', `/agents/${data.id}`, { key: world.apiKey })).status).toBe(200)
    const invitationFields = { recipients: [person()], agents: [{ agentId: data.id, permissions: ['payments.read'] }] }
    const answer = await world.post('/customers/invitations', invitationFields, { key: world.apiKey })
    expect([answer.status, answer.json.errors[0].code]).toEqual([409, 'conflict'])
    const codes = catalogue.createCustomerInvitation.errors
    expect(codes).toContain('conflict')
  })

  test('a request creates an invitation with the documented fields for each recipient and agent', async () => {
    const answer = await world.post(
      '/customers/invitations',
      {
        recipients: [
          { type: 'email', value: 'Ann@Example.com', accountType: 'individual', individual: { firstName: 'Ann' } },
          { type: 'phone', value: '+1 (415) 555-0123' },
          { type: 'email', value: 'ann@example.com' },
        ],
        agents: [
          { agentId: us.agentId, permissions: ['payments.read', 'cards.read'], limits: { perTransaction: 5000 } },
          { agentId: us.second.agentId, permissions: ['wallets.read'], limits: null },
        ],
        message: 'Hello',
        tags: { team: 'a' },
        disableNotifications: true,
      },
      { key: world.apiKey, idempotencyKey: null },
    )
    expect(answer.status, answer.text).toBe(201)
    expect(answer.json.meta).toStrictEqual({ failedRecipients: [], alreadyConnected: [] })
    expect(answer.json.data).toHaveLength(4)
    expect(answer.json.data[0]).toStrictEqual({
      type: 'agentDelegationInvitation',
      id: expect.stringMatching(/^adi_[0-9a-f]{32}$/),
      attributes: {
        developerName: 'Sandbox Organization',
        email: 'ann@example.com',
        phone: null,
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:4010\/connect\/[0-9a-f]{64}$/),
        agentName: 'Sandbox shopper',
        permissions: ['payments.read', 'cards.read'],
        limits: { perTransaction: 5000 },
        status: 'PENDING',
        effectiveStatus: 'PENDING',
        expiresAt: at(30),
        acceptedAt: null,
        declinedAt: null,
        cancelReason: null,
        tags: { team: 'a' },
        createdAt: timestamp,
        updatedAt: timestamp,
      },
      relationships: { agent: { data: { type: 'agent', id: us.agentId } }, customerParty: { data: null } },
    })
    expect(answer.json.data[1].attributes).toMatchObject({ email: 'ann@example.com', limits: null })
    expect(answer.json.data[2].attributes).toMatchObject({ email: null, phone: '+14155550123' })
    expect(new Set(answer.json.data.map((one: { attributes: { url: string } }) => one.attributes.url)).size).toBe(4)
  })

  test('the token in the URL of an invitation is not stored', async () => {
    const { id, url } = await us.pending()
    expect(JSON.stringify(await us.read(id))).not.toContain(url.split('/').at(-1))
  })

  test('the answer lists recipients that cannot be invited or are already connected', async () => {
    const customer = await world.customerPartyId()
    const nobody = { type: 'party_id', value: `pty_${'0'.repeat(32)}` }
    const self = { type: 'party_id', value: us.partyId }
    const ownAddress = { type: 'email', value: 'owner@sandbox.example' }
    const connected = { type: 'party_id', value: customer }
    const { json } = await world.post(
      '/customers/invitations',
      {
        recipients: [nobody, self, ownAddress, connected],
        agents: [us.agentId, us.second.agentId].map((agentId) => ({ agentId, permissions: ['payments.read'] })),
      },
      { key: world.apiKey },
    )
    expect(json.meta).toStrictEqual({
      failedRecipients: [
        { recipient: nobody, reason: 'There is no party with this id.' },
        { recipient: self, reason: 'The recipient is your own account.' },
        { recipient: ownAddress, reason: 'The recipient is your own account.' },
      ],
      alreadyConnected: [
        { recipient: connected, agentId: us.agentId, agentDelegationId: expect.stringMatching(/^dlg_/) },
      ],
    })
    expect(json.data).toHaveLength(1)
    expect(json.data[0]).toMatchObject({
      attributes: { email: null, phone: null },
      relationships: { agent: { data: { id: us.second.agentId } } },
    })
  })

  test.each(delegable)('an invitation can ask for the permission %s', async (permission) => {
    const { json } = await us.invite({ permissions: [permission] })
    expect(json.data[0].attributes.permissions).toStrictEqual([permission])
  })

  test.each<[string, () => object, string]>([
    ['no permissions', () => ({ permissions: [] }), 'agents/0/permissions'],
    ['an unknown permission', () => ({ permissions: ['payments.steal'] }), 'agents/0/permissions/0'],
    ['a limit of 0', () => ({ limits: { perTransaction: 0 } }), 'agents/0/limits/perTransaction'],
    ['a fractional limit', () => ({ limits: { perTransaction: 1.5 } }), 'agents/0/limits/perTransaction'],
    ['a malformed email address', () => ({ recipient: { type: 'email', value: 'ann' } }), 'recipients/0/value'],
    ['a number without a country code', () => ({ recipient: { type: 'phone', value: '555' } }), 'recipients/0/value'],
    ['a malformed party id', () => ({ recipient: { type: 'party_id', value: 'pty_1' } }), 'recipients/0/value'],
    ['an unknown type of recipient', () => ({ recipient: { type: 'handle', value: '@a' } }), 'recipients/0/type'],
    ['an expiry at the current time', () => ({ expiresAt: at(0) }), 'expiresAt'],
    ['an expiry more than 90 days ahead', () => ({ expiresAt: at(90, 1) }), 'expiresAt'],
  ])('an invitation with %s is refused with 422 and a pointer to the invalid value', async (_, fields, path) => {
    const { status, json } = await us.invite(fields())
    expect(status).toBe(422)
    expect(json.errors[0]).toMatchObject({ code: 'invalid_value', source: { pointer: `/data/attributes/${path}` } })
  })

  test('an invitation cannot have a daily limit', async () => {
    const { status, json } = await us.invite({ limits: { perDay: 100 } })
    expect([status, json.errors[0].source.pointer]).toStrictEqual([400, '/data/attributes/agents/0/limits/perDay'])
  })

  test('an invitation can last 90 days, and its limits can be an empty object or contain null', async () => {
    for (const limits of [{}, { perTransaction: null }]) {
      const { json } = await us.invite({ expiresAt: at(90), limits })
      expect(json.data[0].attributes).toMatchObject({ limits, expiresAt: at(90) })
    }
  })

  test('invitations for another party’s agent, an unknown agent or the same agent twice are refused', async () => {
    const unknown = `agt_${'0'.repeat(32)}`
    const source = { pointer: '/data/attributes/agents/0/agentId' }
    for (const agentId of [us.other.agentId, unknown]) {
      const { status, json } = await us.invite({ agentId })
      expect([status, json.errors[0].source, json.errors[0].detail]).toStrictEqual([
        404,
        source,
        `There is no agent ${agentId}.`,
      ])
    }
    const agents = [1, 2].map(() => ({ agentId: us.agentId, permissions: ['payments.read'] }))
    const twice = await world.post('/customers/invitations', { recipients: [person()], agents }, { key: world.apiKey })
    expect([twice.status, twice.json.errors[0].source.pointer]).toStrictEqual([
      422,
      '/data/attributes/agents/1/agentId',
    ])
  })

  test('a request can create at most 100 invitations', async () => {
    const recipients = Array.from({ length: 50 }, person)
    const ids = [us.agentId, us.second.agentId]
    const agents = (names: string[]) => names.map((agentId) => ({ agentId, permissions: ['payments.read'] }))
    const all = await world.post('/customers/invitations', { recipients, agents: agents(ids) }, { key: world.apiKey })
    expect(all.json.data).toHaveLength(100)
    const more = await world.post(
      '/customers/invitations',
      { recipients: [...recipients, person()], agents: agents(ids) },
      { key: world.apiKey },
    )
    expect(more.status).toBe(422)
  })

  test('an agent can send invitations only for itself', async () => {
    expect((await us.invite({}, { key: world.agentKey })).status).toBe(201)
    const { status, json } = await us.invite({ agentId: us.second.agentId }, { key: world.agentKey })
    expect([status, json.errors[0].source.pointer]).toStrictEqual([403, '/data/attributes/agents/0/agentId'])
  })

  test('an API key without scopes cannot send, list or revoke invitations, or remove customers', async () => {
    const key = await addKey(world, { partyId: us.partyId, agentId: null, scopes: [] })
    const { id } = await us.pending()
    const statuses = [
      await us.invite({}, { key }),
      await world.get('/customers/invitations', { key }),
      await world.send('DELETE', `/customers/invitations/${id}`, { key }),
      await world.send('DELETE', `/customers/${await world.customerPartyId()}`, { key }),
    ].map(({ status }) => status)
    expect(statuses).toStrictEqual([403, 403, 403, 403])
  })

  describe('lists of invitations', () => {
    test('pending invitations are grouped by recipient, newest group first, page by page', async () => {
      const { other } = us
      const agents = [{ agentId: other.agentId, permissions: ['payments.read'] }]
      const emails = ['a@x.example', 'b@x.example', 'c@x.example']
      for (const value of [...emails, 'a@x.example']) {
        world.system.pass(1)
        const recipients = [{ type: 'email', value }]
        await world.post('/customers/invitations', { recipients, agents }, { key: other.apiKey })
      }
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const path: string = `/customers/invitations?limit=1${cursor === null ? '' : `&cursor=${cursor}`}`
        const { json } = await world.get(path, { key: other.apiKey })
        seen.push(...json.data.map((group: { id: string }) => group.id))
        cursor = json.meta.pagination.nextCursor
      } while (cursor !== null && seen.length < 10)
      expect(seen).toStrictEqual(['c@x.example', 'b@x.example', 'a@x.example'])
      const { json } = await world.get('/customers/invitations', { key: other.agentKey })
      expect(json.data[2]).toStrictEqual({
        type: 'customerInvitation',
        id: 'a@x.example',
        attributes: {
          status: 'PENDING',
          party: null,
          email: 'a@x.example',
          createdAt: timestamp,
          agentInvitations: [1, 2].map(() => ({
            invitationId: expect.stringMatching(/^adi_/),
            agent: { id: other.agentId, name: 'Another agent', handle: null },
            permissions: ['payments.read'],
            url: expect.stringContaining('/connect/'),
            createdAt: timestamp,
            expiresAt: timestamp,
            tags: {},
          })),
        },
      })
      const foreign = await world.get('/customers/invitations?limit=1', { key: other.apiKey })
      const stolen = await world.get(`/customers/invitations?cursor=${foreign.json.meta.pagination.nextCursor}`)
      expect([stolen.status, stolen.json.errors[0].source]).toStrictEqual([400, { parameter: 'cursor' }])
    })

    test('an agent sees only the invitations for itself; an API key sees the invitations for all agents of its party', async () => {
      const recipient = person()
      const mine = await us.pending({ recipient })
      const theirs = await us.pending({ recipient, agentId: us.second.agentId })
      const idsFor = async (key: string) => {
        const { json } = await world.get('/customers/invitations?limit=100', { key })
        const group = json.data.find(({ id }: { id: string }) => id === recipient.value)
        return group?.attributes.agentInvitations.map((one: { invitationId: string }) => one.invitationId)
      }
      expect(await idsFor(world.agentKey)).toStrictEqual([mine.id])
      expect(await idsFor(us.second.agentKey)).toStrictEqual([theirs.id])
      expect((await idsFor(world.apiKey))?.toSorted()).toStrictEqual([mine.id, theirs.id].toSorted())
      expect(await idsFor(us.other.apiKey)).toBeUndefined()
    })

    test('the name of an invited party is shown only to parties of which it is or was a customer', async () => {
      const customer = await world.customerPartyId()
      await us.pending({ recipient: { type: 'party_id', value: customer }, agentId: us.second.agentId })
      await world.post(
        '/customers/invitations',
        {
          recipients: [{ type: 'party_id', value: customer }],
          agents: [{ agentId: us.other.agentId, permissions: ['payments.read'] }],
        },
        { key: us.other.apiKey },
      )
      const partyFor = async (key: string) => {
        const { json } = await world.get('/customers/invitations?limit=100', { key })
        return json.data.find(({ id }: { id: string }) => id === customer).attributes.party
      }
      expect(await partyFor(world.apiKey)).toMatchObject({ id: customer, name: 'Sandbox Customer' })
      expect(await partyFor(us.other.apiKey)).toBeNull()
    })
  })
})
