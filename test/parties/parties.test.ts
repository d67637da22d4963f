import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scopes } from '../../src/core/permissions.ts'
import type { EventType } from '../../src/service/rules/event-types.ts'
import { ok, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addKey, addParty, addUserToken, createWorld, type World } from '../support/world.ts'

const dayMs = 24 * 60 * 60_000

onEachDatabase('the caller’s own party', (database) => {
  let world: World
  let partyId: string

  beforeEach(async () => {
    world = await createWorld(database)
    partyId = (await world.whoami()).partyId
  })
  afterEach(() => world.drop())

  const put = (path: string, attributes: object, key = world.apiKey) =>
    world.send('PUT', path, { key, attributes, idempotencyKey: null })
  const patch = (attributes: object, key = world.apiKey) => world.send('PATCH', '/parties/me', { key, attributes })
  const party = async (key = world.apiKey) => ok(await world.get('/parties/me', { key })).json.data
  const readEvents = (type: EventType) =>
    world.store.read(({ db }) =>
      db.selectFrom('events').select(['resourceId', 'state']).where('type', '=', type).orderBy('sequence').execute(),
    )

  test('a party is shown with its known attributes, and with null for the others', async () => {
    const profile = { legalName: 'Acme Inc.', persona: 'DEVELOPER', addressCity: 'Austin' }
    await payer(world).setParty(partyId, { profile: JSON.stringify(profile), phone: '+14155550123', handle: 'acme' })
    const none = { firstName: null, lastName: null, avatarUrl: null, addressLine1: null, addressState: null }
    expect(await party()).toStrictEqual({
      type: 'party',
      id: partyId,
      attributes: {
        ...{ ...profile, ...none, addressPostalCode: null, addressCountry: null, createdBy: null },
        ...{ partyType: 'ORG', status: 'ACTIVE', handle: '@acme', primaryPhone: '+14155550123' },
        // No request has changed the party, so `updatedAt` is the time at which the party was created.
        updatedAt: '2026-01-15T12:00:00.000Z',
        ...{ displayName: expect.any(String), email: expect.any(String), createdAt: expect.any(String) },
      },
    })
    expect(await party(world.agentKey)).toStrictEqual(await party())
  })

  test('a party can change its display name; if the name is removed, others see the legal name', async () => {
    expect(ok(await patch({ displayName: 'Acme & Co' })).json.data.attributes).toMatchObject({
      displayName: 'Acme & Co',
      updatedAt: '2026-01-15T12:00:00.000Z',
    })
    await payer(world).setParty(partyId, { profile: JSON.stringify({ legalName: 'Acme Inc.' }) })
    expect(ok(await patch({ displayName: null })).json.data.attributes.displayName).toBeNull()
    const { customerPartyId } = { customerPartyId: await world.customerPartyId() }
    expect(customerPartyId).toMatch(/^pty_/)
    const { displayName } = await world.store.read(({ db }) =>
      db.selectFrom('parties').selectAll().where('id', '=', partyId).executeTakeFirstOrThrow(),
    )
    expect(displayName).toBe('Acme Inc.')
    expect(ok(await patch({ displayName: 'Back' })).json.data.attributes.displayName).toBe('Back')
  })

  test('each change of a party adds an event with the new state; an update that changes nothing adds none', async () => {
    const { displayName } = (await party()).attributes
    ok(await world.send('PATCH', '/parties/me', { key: world.apiKey }))
    ok(await patch({ displayName }))
    expect(await readEvents('party.updated')).toEqual([])
    ok(await patch({ displayName: 'New' }))
    ok(await patch({ displayName: 'New' }))
    const events = await readEvents('party.updated')
    expect(events.map(({ resourceId, state }) => [resourceId, JSON.parse(state ?? '').displayName])).toEqual([
      [partyId, 'New'],
    ])
  })

  test('a party can be changed only by its owners, its administrators and its API keys', async () => {
    const { userId, token } = await addUserToken(world, partyId)
    ok(await patch({ displayName: 'By an owner' }, token))
    await world.store.transaction(async ({ db }) => {
      await db.updateTable('users').set({ role: 'MEMBER' }).where('id', '=', userId).execute()
    })
    expectRefusal(await patch({ displayName: 'By a member' }, token), 'forbidden')
    expectRefusal(await put('/parties/me/handle', { handle: 'members' }, token), 'forbidden')
    expectRefusal(await put('/parties/me/limits', { perDay: 1 }, token), 'forbidden')
    expectRefusal(await patch({ displayName: 'By an agent' }, world.agentKey), 'forbidden')
  })

  describe('the handle of a party', () => {
    const take = (handle: string, key = world.apiKey) => put('/parties/me/handle', { handle }, key)
    const taken = { source: { pointer: '/data/attributes/handle' } }
    const createAgent = async (slug: string, key = world.apiKey) =>
      ok(await world.post('/agents', { name: slug, slug }, { key })).json.data.id as string
    const handleOf = async (id: string, key = world.apiKey) =>
      ok(await world.get(`/agents/${id}`, { key })).json.data.attributes.handle

    test('when a party changes its handle, the handles of its agents change too', async () => {
      expect(ok(await take('first')).json.data.attributes.handle).toBe('@first')
      const [buyer, other] = [await createAgent('buyer'), await createAgent('second-buyer')]
      expect(ok(await take('first-second')).json.data.attributes.handle).toBe('@first-second')
      expect([await handleOf(buyer), await handleOf(other)]).toEqual([
        '@first-second-buyer',
        '@first-second-second-buyer',
      ])
      // The second agent now gets the handle that the first agent had until this change.
      ok(await take('first'))
      expect([await handleOf(buyer), await handleOf(other)]).toEqual(['@first-buyer', '@first-second-buyer'])
      const paid = { counterparty: { type: 'handle', value: '@first-buyer' }, amount: 1 }
      const someone = await addParty(world)
      expect(ok(await world.post('/payments', paid, { key: someone.apiKey })).json.data.attributes.status).toBe(
        'COMPLETED',
      )
    })

    test('a handle that a party gave up stays reserved for that party for 14 days', async () => {
      const other = await addParty(world)
      ok(await take('first'))
      ok(await take('second'))
      expectRefusal(await take('first', other.apiKey), 'conflict', taken)
      ok(await take('first'))
      ok(await take('second'))
      world.system.pass(14 * dayMs - 1)
      expectRefusal(await take('first', other.apiKey), 'conflict', taken)
      world.system.pass(1)
      ok(await take('first', other.apiKey))
      expectRefusal(await take('first'), 'conflict', taken)
    })

    test('a party can take neither another party’s handle nor that handle followed by a hyphen and more', async () => {
      const other = await addParty(world, { party: { handle: 'other' } })
      const buyer = await createAgent('buyer', other.apiKey)
      for (const handle of ['other', 'other-buyer', 'other-new']) {
        expectRefusal(await take(handle), 'conflict', taken)
      }
      ok(await take('other_buyer'))
      expect(await handleOf(buyer, other.apiKey)).toBe('@other-buyer')
      // The party created here has the handle @acme-inc, which could also be the handle of an agent of @acme.
      const dashed = await addParty(world, { party: { handle: 'acme-inc' } })
      await createAgent('buyer', dashed.apiKey)
      ok(await take('acme'))
      const slug = { source: { pointer: '/data/attributes/slug' } }
      expectRefusal(await world.post('/agents', { name: 'A', slug: 'inc' }, { key: world.apiKey }), 'conflict', slug)
      ok(await take('elsewhere'))
      await createAgent('inc-buyer')
      expectRefusal(await take('acme'), 'conflict', taken)
    })

    test('a party cannot take a new handle while ten of its old handles are reserved', async () => {
      for (let count = 0; count < 10; count++) ok(await take(`name${count}`))
      expectRefusal(await take('name11'), 'conflict', taken)
      world.system.pass(14 * dayMs)
      ok(await take('name11'))
    })

    test.each(['', 'Capital', '@at', '-dash', 'dash-', 'two--dashes', 'sp ace', 'x'.repeat(61)])(
      '%j is not a valid handle',
      async (handle) => {
        expectRefusal(await take(handle), 'invalid_value', { status: 422, ...taken })
      },
    )

    test('if two parties take the same handle at the same time, only one gets it', async () => {
      const other = await addParty(world)
      const answers = await Promise.all([take('wanted'), take('wanted', other.apiKey)])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    })
  })

  describe('the limits of a party', () => {
    const limits = async () => ok(await world.get('/parties/me/limits', { key: world.agentKey })).json.data.attributes

    test('new limits replace all earlier limits of the party, and omitted limits are removed', async () => {
      expect(await limits()).toEqual({ limits: null, currency: null, updatedAt: null })
      const answer = ok(await put('/parties/me/limits', { perTransaction: 500, perDay: 0, currency: 'USD' })).json.data
      const set = { perTransaction: 500, perDay: 0, perMonth: null }
      expect(answer).toStrictEqual({
        type: 'partyLimitPolicy',
        id: partyId,
        attributes: { limits: set, currency: 'USD', updatedAt: '2026-01-15T12:00:00.000Z' },
        relationships: { party: { data: { type: 'party', id: partyId } } },
      })
      ok(await put('/parties/me/limits', { perMonth: 100 }))
      expect((await limits()).limits).toEqual({ perTransaction: null, perDay: null, perMonth: 100 })
      const cleared = ok(await world.send('DELETE', '/parties/me/limits', { key: world.apiKey, idempotencyKey: null }))
      expect(cleared.json.data.attributes).toMatchObject({ limits: null, currency: null })
    })

    test('a user’s payment above the party’s limit goes to review until the limit is cleared', async () => {
      const { token: key } = await addUserToken(world, partyId)
      const pay = async () => {
        const attributes = { amount: 501, counterparty: { type: 'party_id', value: await world.customerPartyId() } }
        return ok(await world.post('/payments', attributes, { key })).json.data
      }
      expect((await pay()).attributes.status).toBe('COMPLETED')
      ok(await put('/parties/me/limits', { perTransaction: 500 }))
      const reviewed = await pay()
      expect(reviewed.attributes.status).toBe('IN_REVIEW')
      const [approval] = ok(await world.get('/approvals?status=pending', { key: world.apiKey })).json.data
      expect(approval.attributes).toMatchObject({
        target: { type: 'payment', id: reviewed.id },
        reasons: [{ limitType: 'perTransactionAmount', limitAmount: 500, actualAmount: 501 }],
      })
      ok(await world.send('DELETE', '/parties/me/limits', { key: world.apiKey }))
      expect((await pay()).attributes.status).toBe('COMPLETED')
    })

    test('a party’s limits can be raised or cleared only by callers with the scopes that the limits restrict', async () => {
      ok(await put('/parties/me/limits', { perDay: 100 }))
      const weak = await addKey(world, { partyId, agentId: null, scopes: ['party.update'] })
      const strong = await addKey(world, { partyId, agentId: null, scopes })
      ok(await put('/parties/me/limits', { perDay: 99 }, weak))
      expectRefusal(await put('/parties/me/limits', { perDay: 100 }, weak), 'forbidden', {
        source: { pointer: '/data/attributes' },
      })
      expectRefusal(await world.send('DELETE', '/parties/me/limits', { key: weak }), 'forbidden')
      ok(await put('/parties/me/limits', { perDay: 100 }, strong))
    })
  })
})
