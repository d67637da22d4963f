import { afterEach, beforeEach, expect, test } from 'vitest'
import { newId, sha256 } from '../../src/core/system.ts'
import { hashOfPassword, SignIn } from '../../src/service/oauth/sign-in.ts'
import { insertGrant } from '../../src/service/store/oauth-grants.ts'
import { savePassword } from '../../src/service/store/passwords.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { ok } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addUserToken, createWorld, type World } from '../support/world.ts'

onEachDatabase('the members of a party', (database) => {
  let world: World
  let partyId: string

  beforeEach(async () => {
    world = await createWorld(database)
    partyId = (await world.whoami()).partyId
  })
  afterEach(() => world.drop())

  const remove = (userId: string, key = world.apiKey) => world.send('DELETE', `/parties/me/members/${userId}`, { key })
  const members = async (query = '') => {
    const answer = ok(await world.get(`/parties/me/members${query}`, { key: world.apiKey })).json
    return answer as { data: { id: string; attributes: Record<string, unknown> }[]; meta: { pagination: Page } }
  }
  interface Page {
    nextCursor: string
  }
  const add = async (change: Partial<UserRow> = {}) => {
    const added = await addUserToken(world, partyId)
    if (Object.keys(change).length > 0) {
      await world.store.transaction(async ({ db }) => {
        await db.updateTable('users').set(change).where('id', '=', added.userId).execute()
      })
    }
    return added
  }

  test('members are listed in pages, newest first', async () => {
    world.system.pass(1000)
    const { userId } = await add({ name: 'Grace Brewster Hopper', role: 'MEMBER', email: 'grace@example.com' })
    const { data, meta } = await members('?limit=1')
    expect(data).toStrictEqual([
      {
        type: 'user',
        id: userId,
        attributes: {
          ...{ partyId, role: 'MEMBER', status: 'ACTIVE', email: 'grace@example.com' },
          ...{ firstName: 'Grace', lastName: 'Brewster Hopper' },
          ...{ createdAt: '2026-01-15T12:00:01.000Z', updatedAt: '2026-01-15T12:00:01.000Z' },
        },
        relationships: { party: { data: { type: 'party', id: partyId } } },
      },
    ])
    const rest = await members(`?limit=1&cursor=${meta.pagination.nextCursor}`)
    expect(rest.data.map(({ attributes }) => attributes.role)).toEqual(['OWNER'])
  })

  test('a removed member is signed out everywhere, and their tokens, grants and password stop working', async () => {
    const password = 'correct horse battery staple'
    const { userId, token } = await add({ email: 'gone@example.com' })
    const signIn = new SignIn(world)
    const { system, store } = world
    const hash = await hashOfPassword(password, system)
    await store.transaction((tx) => savePassword(tx, { userId, hash }))
    const place = { address: '127.0.0.1', browser: undefined }
    const begun = await signIn.byPassword('gone@example.com', password, place)
    if (typeof begun === 'string') throw new Error(begun)
    expect((await signIn.of(begun.session))?.user.id).toBe(userId)
    const grantId = newId('gnt', system, system.now())
    await store.transaction((tx) =>
      insertGrant(tx, {
        ...{ id: grantId, userId, partyId, agentId: null, clientId: 'c', clientName: 'C', scopes: 'payments:read' },
        ...{ payload: '{}', createdAtMs: system.now(), lastUsedAtMs: null, revokedAtMs: null, expiresAtMs: null },
      }),
    )
    const apiKey = ok(await world.post('/api-keys', { name: 'Created by the member' }, { key: token })).json.data
      .attributes.apiKey

    const answer = ok(await remove(userId)).json
    expect(answer).toStrictEqual({ data: { type: 'user', id: userId }, meta: { deleted: true } })
    expect(await signIn.of(begun.session)).toBeUndefined()
    expect(await signIn.byPassword('gone@example.com', password, place)).toBe('wrong')
    expectRefusal(await world.get('/whoami', { key: token }), 'unauthenticated')
    const left = await store.read(async ({ db }) => ({
      sessions: await db.selectFrom('signInSessions').selectAll().where('userId', '=', userId).execute(),
      browsers: await db.selectFrom('knownBrowsers').selectAll().where('userId', '=', userId).execute(),
      grant: await db.selectFrom('oauthGrants').selectAll().where('id', '=', grantId).executeTakeFirst(),
    }))
    expect(left).toMatchObject({ sessions: [], browsers: [], grant: { revokedAtMs: system.now() } })
    const member = (await members()).data.find(({ id }) => id === userId)
    expect(member?.attributes).toMatchObject({ status: 'REVOKED', updatedAt: '2026-01-15T12:00:00.000Z' })
    // An API key belongs to the party, so it still works after the member who created it is removed.
    ok(await world.get('/whoami', { key: apiKey }))
    expect(ok(await remove(userId)).json).toEqual(answer)
    // The email address of the removed member can be invited again.
    const invitations = [{ email: 'gone@example.com', role: 'MEMBER' }]
    ok(await world.post('/party-invitations', { invitations }, { key: world.apiKey }))
  })

  test('a session stored after its user was removed does not sign the user in', async () => {
    const { userId } = await add()
    ok(await remove(userId))
    const atMs = world.system.now()
    await world.store.transaction(async ({ db }) => {
      const session = {
        idHash: sha256('late'),
        userId,
        createdAtMs: atMs,
        expiresAtMs: atMs + 60_000,
        oneClick: 0,
      } as const
      await db.insertInto('signInSessions').values(session).execute()
    })
    expect(await new SignIn(world).of('late')).toBeUndefined()
  })

  test('a party always has an owner, even if the last two owners are removed at the same time', async () => {
    const { data } = await members()
    const [first] = data
    const firstId = String(first?.id)
    expectRefusal(await remove(firstId), 'conflict')
    const { userId } = await add()
    await add({ role: 'ADMIN' })
    const answers = await Promise.all([remove(firstId), remove(userId)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const owners = (await members()).data.filter(
      ({ attributes }) => attributes.role === 'OWNER' && attributes.status === 'ACTIVE',
    )
    expect(owners).toHaveLength(1)
  })

  test('administrators cannot remove owners, and users with the role MEMBER cannot remove anyone', async () => {
    const [owner, admin, member] = [await add(), await add({ role: 'ADMIN' }), await add({ role: 'MEMBER' })]
    expectRefusal(await remove(owner.userId, admin.token), 'forbidden')
    expectRefusal(await remove(admin.userId, member.token), 'forbidden')
    ok(await remove(member.userId, admin.token))
    ok(await remove(admin.userId, owner.token))
    const customer = await addUserToken(world, await world.customerPartyId())
    expectRefusal(await remove(customer.userId), 'not_found')
    expectRefusal(await remove('usr_missing'), 'not_found')
  })

  test('removing a member adds one event to the party, and removing them again adds none', async () => {
    const { userId } = await add()
    ok(await remove(userId))
    ok(await remove(userId))
    const events = await world.store.read(({ db }) =>
      db.selectFrom('events').select('resourceId').where('type', '=', 'party.updated').execute(),
    )
    expect(events).toEqual([{ resourceId: partyId }])
  })
})
