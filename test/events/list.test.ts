import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { delegable, scopes } from '../../src/core/permissions.ts'
import { inviters } from '../customers/world.ts'
import { created, ok, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { merchant, weekly } from '../subscriptions/merchant.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addKey, addParty, createWorld, type OtherParty, type Sent, type World } from '../support/world.ts'

interface Listed {
  id: string
  attributes: {
    eventType: string
    resourceId: string
    resourceType: string
    // biome-ignore lint/suspicious/noExplicitAny: compared with the answer of the operation that reads the resource.
    payload: { object: any }
    createdAt: string
  }
  relationships: { party: { data: { id: string } } }
}

onEachDatabase('the events of a party', (database) => {
  let world: World
  let ownAgent: { partyId: string; agentId: string }
  let other: OtherParty
  let customerId: string

  beforeAll(async () => {
    world = await createWorld(database)
    other = await addParty(world)
    ownAgent = (await world.whoami()) as typeof ownAgent
    customerId = await world.customerPartyId()
  })
  afterAll(() => world.drop())

  const list = async (query = '', sent: Sent = { key: world.apiKey }): Promise<Listed[]> =>
    ok(await world.get(`/events${query}`, sent)).json.data
  const types = async (query = '', sent?: Sent) =>
    (await list(query, sent)).map(({ attributes }) => attributes.eventType)
  const read = async (path: string, sent: Sent = { key: world.apiKey }) => ok(await world.get(path, sent)).json.data
  const toOther = () => ({ type: 'party_id', value: other.partyId })
  /** Returns the events newer than the given one, oldest first. */
  const since = async (last: Listed | undefined) => {
    const all = await list('?limit=100')
    return all.slice(0, last === undefined ? all.length : all.findIndex(({ id }) => id === last.id)).reverse()
  }
  const last = async () => (await list('?limit=1'))[0]

  describe('the record in an event', () => {
    test('each party’s events show a payment as of the time of the event, without the other party’s tags', async () => {
      const before = await last()
      const id = created(
        await payer(world).pay(300, { type: 'email', value: 'later@example.com' }, { tags: { a: 'b' } }),
      )
      const waiting = await read(`/payments/${id}`)
      ok(await payer(world).claim(id))
      const events = await since(before)
      const shown = events.map(({ attributes }) => [attributes.eventType, attributes.payload.object])
      const claimed = await read(`/payments/${id}`)
      expect(shown).toEqual([
        ['payment.created', waiting],
        ['payment.pending_claim', waiting],
        ['payment.completed', claimed],
      ])
      expect(claimed.attributes.status).toBe('COMPLETED')
      const arrived = created(await payer(world).pay(40, toOther(), { tags: { note: 'of the sender' } }))
      const [first] = await list('?limit=1', { key: other.apiKey })
      expect(first?.attributes.payload.object).toEqual(await read(`/payments/${arrived}`, { key: other.apiKey }))
      expect(first?.attributes.payload.object.attributes.tags).toEqual({})
    })

    test('events show a card and its purchase as of the time of the event', async () => {
      const before = await last()
      const cardId = await world.issueCard()
      const states = [await read(`/agent-cards/${cardId}`)]
      ok(await world.post(`/agent-cards/${cardId}/freeze`, undefined, { key: world.apiKey }))
      states.push(await read(`/agent-cards/${cardId}`))
      ok(await world.post(`/agent-cards/${cardId}/unfreeze`, undefined, { key: world.apiKey }))
      states.push(await read(`/agent-cards/${cardId}`))
      const purchaseId = created(await world.authorize(cardId, 100))
      states.push(await read(`/agent-cards/${cardId}`), await read(`/card-transactions/${purchaseId}`))
      const part = { amount: 40, currency: 'USD' }
      ok(await world.post(`/simulations/card-transactions/${purchaseId}/capture`, part))
      states.push(await read(`/card-transactions/${purchaseId}`))
      const objects = (await since(before)).map(({ attributes }) => attributes.payload.object)
      expect(objects.map(({ id, attributes: { status } }) => `${id} ${status}`).sort()).toEqual(
        states.map(({ id, attributes: { status } }) => `${id} ${status}`).sort(),
      )
      for (const object of objects) expect(states).toContainEqual(object)
    })

    test('events show approvals, wallets and subscriptions, but no checkout URL or client secret', async () => {
      const self = payer(world)
      const before = await last()
      await self.setLimits('agents', ownAgent.agentId, { perTransaction: 1000 })
      const paymentId = created(await self.pay(1001, toOther()))
      const approval = await self.approvalOf(paymentId)
      ok(await self.deny(approval.id, { reason: 'Not now' }, { key: world.apiKey }))
      const denied = await read(`/approvals/${approval.id}`)
      await self.setLimits('agents', ownAgent.agentId, null)
      const shop = merchant(world)
      const offered = await read(`/subscriptions/${await shop.create(weekly)}`, {})
      expect(offered.attributes.clientSecret).not.toBeNull()
      const wallet = ok(await world.post('/wallets', { displayName: 'Rent' }, { key: world.apiKey })).json.data
      const events = await since(before)
      const objectOf = (type: string) =>
        events.find(({ attributes }) => attributes.eventType === type)?.attributes.payload.object
      expect(objectOf('approval.required')).toEqual(approval)
      expect(objectOf('approval.denied')).toEqual(denied)
      const { checkoutUrl: _, clientSecret: __, ...publicAttributes } = offered.attributes
      expect(objectOf('subscription.created')).toEqual({
        ...offered,
        attributes: { ...publicAttributes, checkoutUrl: null, clientSecret: null },
      })
      expect(objectOf('wallet.created').attributes).toEqual(wallet.attributes)
    })

    test('events show bank accounts, payment requests, invitations and the party, but no URLs', async () => {
      const before = await last()
      const key = world.apiKey
      const createAt = async (path: string, attributes: object) => {
        const answer = await world.post(path, attributes, { key })
        expect(answer.status, answer.text).toBe(201)
        return [answer.json.data].flat()[0]
      }
      const account = await createAt('/external-accounts/processor-token', {
        processorToken: 'processor-sandbox-accounts',
      })
      const { id } = await createAt('/payment-requests', { amount: 7, payer: toOther() })
      const request = await read(`/payment-requests/${id}`)
      const theirs = await read(`/payment-requests/${id}`, { key: other.apiKey })
      const invitation = await createAt('/party-invitations', {
        invitations: [{ email: 'new@example.com', role: 'MEMBER' }],
      })
      const events = await since(before)
      const objectOf = (type: string, id: string) =>
        events.find(({ attributes }) => attributes.eventType === type && attributes.resourceId === id)?.attributes
          .payload.object
      const without = (name: string, { attributes, ...rest }: { attributes: object }) => {
        return { ...rest, attributes: { ...attributes, [name]: null } }
      }
      expect(objectOf('external_account.connected', account.id)).toEqual(account)
      expect(objectOf('payment_request.created', id)).toEqual(without('paymentLinkUrl', request))
      expect(objectOf('party_invitation.created', invitation.id)).toEqual(without('url', invitation))
      ok(await world.send('PATCH', '/parties/me', { key, attributes: { displayName: 'Renamed' } }))
      expect((await last())?.attributes.payload.object).toEqual(await read('/parties/me'))
      // The other party's event is older than the renaming. It shows the new name nevertheless, because the name is
      // read from the current record of the renamed party.
      const { name: _, ...initiator } = theirs.attributes.initiatorParty
      const renamed = { requesterName: 'Renamed', initiatorParty: { ...initiator, name: 'Renamed' } }
      const [incoming] = await list('?eventType=payment_request.incoming&limit=1', { key: other.apiKey })
      expect(incoming?.attributes.payload.object).toEqual(
        without('paymentLinkUrl', { ...theirs, attributes: { ...theirs.attributes, ...renamed } }),
      )
    })

    test('both parties get events when a customer accepts an invitation and when the customer disconnects', async () => {
      const invite = await inviters(world)
      const before = await last()
      const { id } = await invite.pending()
      const path = `/simulations/customer-invitations/${id}/accept`
      const accepted = ok(await world.post(path, {}, { key: world.apiKey })).json.data
      const invitedId = accepted.relationships.customerParty.data.id as string
      ok(await world.send('POST', `/simulations/customers/${invitedId}/disconnect`, { key: world.apiKey }))
      const events = (await since(before)).map(({ attributes: { eventType, payload } }) => {
        const { status, url } = payload.object.attributes
        return { eventType, status, url }
      })
      expect(events).toEqual([
        { eventType: 'agent_delegation_invitation.created', status: 'PENDING', url: null },
        { eventType: 'agent_delegation_invitation.accepted', status: 'ACCEPTED', url: null },
        { eventType: 'agent_delegation.revoked', status: 'REVOKED', url: undefined },
      ])
      const theirs = await list('?limit=2', { key: await payer(world).addPartyKey(invitedId) })
      expect(theirs.map(({ attributes }) => attributes.eventType)).toEqual([
        'delegation.revoked',
        'delegation.activated',
      ])
    })
  })

  describe('the list of events', () => {
    test('the pages of the list contain every event once, and each equals the event read by its id', async () => {
      const whole = await list('?limit=100')
      const fromPages: Listed[] = []
      let cursor = ''
      do {
        const { data, meta } = ok(await world.get(`/events?limit=3${cursor}`, { key: world.apiKey })).json
        fromPages.push(...data)
        cursor = meta.pagination.hasMore ? `&cursor=${meta.pagination.nextCursor}` : ''
      } while (cursor !== '')
      expect(fromPages).toEqual(whole)
      expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length)
      expect(whole.length).toBeGreaterThan(10)
      for (const event of whole.slice(0, 5)) expect(await read(`/events/${event.id}`)).toEqual(event)
      expect(whole.every(({ relationships }) => relationships.party.data.id === ownAgent.partyId)).toBe(true)
    })

    test('the list of events can be filtered by type and by time', async () => {
      expect(new Set(await types('?eventType=payment.created'))).toEqual(new Set(['payment.created']))
      world.system.pass(60_000)
      const between = world.system.now()
      const id = created(await payer(world).pay(1, toOther()))
      const at = new Date(between - 1).toISOString()
      const [after, before] = [await list(`?createdAfter=${at}`), await list(`?createdBefore=${at}&limit=100`)]
      expect(after.map(({ attributes }) => attributes.resourceId)).toEqual([id, id])
      expect(before.some(({ attributes }) => attributes.resourceId === id)).toBe(false)
      expect((await list('?limit=100')).length).toBe(after.length + before.length)
    })

    test('an unknown event type is refused, and the error refers to docs/events.md', async () => {
      const answer = await world.get('/events?eventType=payment.exploded', { key: world.apiKey })
      expectRefusal(answer, 'invalid_value', { source: { parameter: 'eventType' } })
      expect(answer.json.errors[0].detail).toContain('payment.exploded')
      expect(answer.json.errors[0].detail).toContain('docs/events.md')
    })
  })

  describe('access to events', () => {
    test('the event of another party is not found, nor is one with a guessed id', async () => {
      const [theirs] = await list('?limit=1', { key: other.apiKey })
      expectRefusal(await world.get(`/events/${theirs?.id}`, { key: world.apiKey }), 'not_found')
      const [mine] = await list('?limit=1')
      const guessed = `${mine?.id.slice(0, -1)}${mine?.id.endsWith('0') ? '1' : '0'}`
      expectRefusal(await world.get(`/events/${guessed}`, { key: world.apiKey }), 'not_found')
      expectRefusal(await world.get(`/events/${mine?.id}`, { key: other.apiKey }), 'not_found')
    })

    test('a key sees only the events of records that its scopes permit it to read', async () => {
      const key = await addKey(world, { partyId: ownAgent.partyId, agentId: null, scopes: ['wallets.read'] })
      expect(new Set(await types('?limit=100', { key }))).toEqual(
        new Set(['wallet.created', 'external_account.connected']),
      )
      expectRefusal(await world.get('/events?eventType=payment.created', { key }), 'forbidden')
      const [payment] = await list('?eventType=payment.created&limit=1')
      expectRefusal(await world.get(`/events/${payment?.id}`, { key }), 'not_found')
      const otherScopes = scopes.filter((scope) => scope !== 'payments.read')
      const otherKey = await addKey(world, { partyId: ownAgent.partyId, agentId: null, scopes: otherScopes })
      const eventTypes = await types('?limit=100', { key: otherKey })
      expect(eventTypes.some((type) => /^(?:payment|approval|subscription)\./.test(type))).toBe(false)
      expect(eventTypes).toContain('agent_card.created')
    })

    test('an agent sees only the events of records that it may read, and card events only of its own cards', async () => {
      const walletId = (await read('/wallets')).find(
        (one: { attributes: { isDefault: boolean } }) => one.attributes.isDefault,
      ).id
      const reader = await addAgent(world, ownAgent.partyId, walletId, ['payments.read'])
      const blind = await addAgent(world, ownAgent.partyId, walletId, [])
      const full = await addAgent(world, ownAgent.partyId, walletId, delegable)
      const kindsSeenBy = async (key: string) =>
        new Set((await types('?limit=100', { key })).map((type) => type.split('.')[0]))
      const alwaysVisible = ['wallet', 'external_account', 'party']
      expect(await kindsSeenBy(reader.agentKey)).toEqual(
        new Set(['payment', 'payment_request', 'approval', 'subscription', ...alwaysVisible]),
      )
      expect(await kindsSeenBy(blind.agentKey)).toEqual(new Set(alwaysVisible))
      expect(await types('?eventType=agent_card.created', { key: full.agentKey })).toEqual([])
      await world.issueCard({}, { key: full.agentKey })
      expect(await types('?eventType=agent_card.created', { key: full.agentKey })).toEqual(['agent_card.created'])
      const [payment] = await list('?eventType=payment.created&limit=1')
      expectRefusal(await world.get(`/events/${payment?.id}`, { key: blind.agentKey }), 'not_found')
      expect((await list(`?eventType=payment.created&limit=1`, { key: reader.agentKey }))[0]).toEqual(payment)
    })

    test('an agent sees a payment request to its party only if it may read the default wallet or is itself the payer', async () => {
      const aside = created(await world.post('/wallets', { displayName: 'Aside' }, { key: other.apiKey }))
      const { agentId, agentKey: key } = await addAgent(world, other.partyId, aside, ['payments.read'])
      const ask = async (payer: object) =>
        created(await world.post('/payment-requests', { amount: 5, payer }, { key: world.apiKey }))
      const toParty = await ask({ type: 'party_id', value: other.partyId })
      const toAgent = await ask({ type: 'agent_id', value: agentId })
      const requestsSeenBy = async (reader: string) =>
        (await list('?eventType=payment_request.incoming&limit=2', { key: reader })).map(
          ({ attributes }) => attributes.resourceId,
        )
      expectRefusal(await world.get(`/payment-requests/${toParty}`, { key }), 'forbidden')
      expect(await requestsSeenBy(key)).toEqual([toAgent])
      expect(await requestsSeenBy(other.agentKey)).toEqual([toAgent, toParty])
    })

    test('an agent sees a customer’s events as far as the grant permits, and must state an event type', async () => {
      const customerQuery = `partyId=${customerId}`
      const missing = await world.get(`/events?${customerQuery}`)
      expectRefusal(missing, 'invalid_value', { source: { parameter: 'eventType' } })
      const id = created(
        await world.post('/payments', {
          amount: 20,
          currency: 'USD',
          counterparty: toOther(),
          customerPartyId: customerId,
        }),
      )
      const [event] = await list(`?${customerQuery}&eventType=payment.created`, {})
      expect(event?.attributes.payload.object).toEqual(await read(`/payments/${id}?${customerQuery}`, {}))
      expect(await read(`/events/${event?.id}?${customerQuery}`, {})).toEqual(event)
      const source = { parameter: 'customerPartyId' }
      const listUrl = `/events?${customerQuery}&eventType=payment.created`
      expectRefusal(await world.get(listUrl, { key: world.apiKey }), 'forbidden', { source })
      const grantId = await payer(world).delegationId(customerId)
      await world.store.transaction(async ({ db }) => {
        await db.updateTable('delegations').set({ permissions: '["wallets.read"]' }).where('id', '=', grantId).execute()
      })
      expectRefusal(await world.get(listUrl), 'forbidden', { source })
      expectRefusal(await world.get(`/events/${event?.id}?${customerQuery}`), 'not_found')
    })
  })

  test('restoring a snapshot preserves event ids, and new events never reuse the ids of deleted ones', async () => {
    ok(await world.post('/simulations/snapshots', { name: 'events' }, { key: world.apiKey }))
    const before = await list('?limit=100')
    created(await payer(world).pay(2, toOther()))
    const deletedIds = (await list('?limit=2')).map(({ id }) => id)
    // A real restore takes some time. The fake clock stands still, so the test advances it.
    world.system.pass(1)
    ok(await world.send('POST', '/simulations/snapshots/events/restore', { key: world.apiKey }))
    expect(await list('?limit=100')).toEqual(before)
    created(await payer(world).pay(2, toOther()))
    const newIds = (await list('?limit=2')).map(({ id }) => id)
    expect(newIds.some((id) => deletedIds.includes(id))).toBe(false)
    for (const id of deletedIds) expectRefusal(await world.get(`/events/${id}`, { key: world.apiKey }), 'not_found')
  })
})
