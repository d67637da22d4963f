import { afterEach, beforeEach, expect, test } from 'vitest'
import { scopes } from '../../src/core/permissions.ts'
import { sha256 } from '../../src/core/system.ts'
import {
  acceptPartyInvitation,
  declinePartyInvitation,
} from '../../src/service/operations/steps/answer-party-invitations.ts'
import { partyInvitationTransitions } from '../../src/service/rules/party-invitations.ts'
import type { Transaction } from '../../src/service/store/engine/store.ts'
import { findPartyInvitationByToken, type PartyInvitationRecord } from '../../src/service/store/party-invitations.ts'
import { ok } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, addKey, addParty, addUserToken, createWorld, type World } from '../support/world.ts'

onEachDatabase('invitations to a party', (database) => {
  let world: World
  let partyId: string

  beforeEach(async () => {
    world = await createWorld(database, { publicUrl: () => 'http://sandbox.test' })
    partyId = (await world.whoami()).partyId
  })
  afterEach(() => world.drop())

  type Invitee = { email: string; role: string }
  const invite = (invitations: readonly Invitee[], key = world.apiKey) =>
    world.post('/party-invitations', { invitations }, { key, idempotencyKey: null })
  const ada = { email: 'Ada@Example.com', role: 'ADMIN' }
  const bob = { email: 'bob@example.com', role: 'MEMBER' }
  const inviteOne = async (invitee: Invitee = ada): Promise<{ id: string; url: string }> => {
    const { id, attributes } = ok(await invite([invitee])).json.data[0]
    return { id, url: attributes.url }
  }
  const list = async (query = '', key = world.apiKey) => {
    const { data } = ok(await world.get(`/party-invitations${query}`, { key })).json
    return data as { id: string; attributes: Record<string, unknown> }[]
  }
  const revoke = (id: string) => world.send('DELETE', `/party-invitations/${id}`, { key: world.apiKey })
  const changeInvitation = <T>(url: string, work: (tx: Transaction, found: PartyInvitationRecord) => Promise<T>) =>
    world.store.transaction(async (tx) => {
      const found = await findPartyInvitationByToken(tx, sha256(url.split('/').at(-1) ?? ''))
      if (found === undefined) throw new Error('No invitation has this link.')
      return work(tx, found)
    })
  const context = (tx: Transaction) => ({ tx, system: world.system, nowMs: world.system.now() })
  const accept = (url: string) =>
    changeInvitation(url, (tx, found) => acceptPartyInvitation(context(tx), found, { name: 'Ada', passwordHash: 'x' }))
  const decline = (url: string) => changeInvitation(url, (tx, found) => declinePartyInvitation(context(tx), found))
  const statusOf = async (id: string) => (await list()).find((one) => one.id === id)?.attributes.status

  test('one request can invite several people, each with a separate link', async () => {
    const answer = ok(await invite([ada, bob]))
    expect(answer.status).toBe(201)
    const at = '2026-01-15T12:00:00.000Z'
    const shape = (email: string, role: string) => ({
      type: 'invitation',
      id: expect.stringMatching(/^inv_[0-9a-f]{32}$/),
      attributes: {
        ...{ email, role, status: 'PENDING', createdAt: at, updatedAt: at },
        ...{ expiresAt: '2026-02-14T12:00:00.000Z', acceptedAt: null },
        url: expect.stringMatching(/^http:\/\/sandbox\.test\/join\/[0-9a-f]{64}$/),
      },
      relationships: { party: { data: { type: 'party', id: partyId } } },
    })
    expect(answer.json.meta).toStrictEqual({ failed: [] })
    expect(answer.json.data).toStrictEqual([shape('ada@example.com', 'ADMIN'), shape('bob@example.com', 'MEMBER')])
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? 1 : -1)
    expect(await list()).toStrictEqual(answer.json.data.toSorted(byId))
  })

  test('invitations can be filtered by status, and by email address regardless of case', async () => {
    const [first, second] = [await inviteOne(ada), await inviteOne(bob)]
    ok(await revoke(first.id))
    expect((await list('?email=ADA%40example.com')).map(({ id }) => id)).toEqual([first.id])
    expect((await list('?email=ada%40example.com&status=PENDING')).map(({ id }) => id)).toEqual([])
    expect((await list('?status=REVOKED')).map(({ id }) => id)).toEqual([first.id])
    expect((await list(`?status=PENDING&partyId=${partyId}`)).map(({ id }) => id)).toEqual([second.id])
  })

  test('inviting a person again returns the first invitation; with another role, only that person’s invitation fails', async () => {
    const first = await inviteOne(ada)
    const again = ok(await invite([ada, bob])).json.data
    expect(again[0].id).toBe(first.id)
    expect(await list()).toHaveLength(2)
    const failing = ok(
      await invite([
        { ...ada, role: 'MEMBER' },
        { ...bob, email: 'eve@example.com' },
      ]),
    ).json
    expect(failing.data).toMatchObject([{ attributes: { email: 'eve@example.com' } }])
    const error = `ada@example.com is already invited as ADMIN. To invite this person as MEMBER, revoke ${first.id} first.`
    expect(failing.meta).toStrictEqual({ failed: [{ email: 'ada@example.com', error }] })
    expectRefusal(await invite([bob, { ...bob, email: 'BOB@example.com' }]), 'invalid_value', {
      status: 422,
      source: { pointer: '/data/attributes/invitations/1/email' },
    })
  })

  test('accepting an invitation makes the person a member with the given role, and the link stops working', async () => {
    const { id, url } = await inviteOne(ada)
    const user = await accept(url)
    const members = ok(await world.get('/parties/me/members', { key: world.apiKey })).json.data
    expect(members.find((one: { id: string }) => one.id === user.id).attributes).toMatchObject({
      ...{ email: 'ada@example.com', role: 'ADMIN', status: 'ACTIVE', firstName: 'Ada', partyId },
    })
    const acceptedAt = new Date(world.system.now()).toISOString()
    expect((await list())[0]).toMatchObject({ id, attributes: { status: 'ACCEPTED', url: null, acceptedAt } })
    await expect(accept(url)).rejects.toThrow('Only a pending invitation can change, and this one is ACCEPTED.')
    const { data, meta } = ok(await invite([ada])).json
    expect(data).toEqual([])
    expect(meta.failed).toMatchObject([
      { email: 'ada@example.com', error: expect.stringContaining('already a member') },
    ])
  })

  test('nobody can join with an expired invitation, and the person can be invited again', async () => {
    const { id, url } = await inviteOne(ada)
    const dayMs = 24 * 60 * 60 * 1000
    world.system.pass(30 * dayMs - 1)
    expect((await list())[0]?.attributes).toMatchObject({ status: 'PENDING', url })
    world.system.pass(1)
    expect((await list())[0]?.attributes).toMatchObject({ status: 'PENDING', url: null, acceptedAt: null })
    await expect(accept(url)).rejects.toThrow('The invitation has expired. Ask Sandbox Organization for another one.')
    const anew = await inviteOne({ ...ada, role: 'MEMBER' })
    expect(anew.id).not.toBe(id)
    expect(await statusOf(id)).toBe('REVOKED')
    await accept(anew.url)
    expect(await statusOf(anew.id)).toBe('ACCEPTED')
  })

  test('an invitation to the email address of another party’s user cannot be accepted', async () => {
    const other = await addParty(world)
    const { url } = await inviteOne(ada)
    const theirs = ok(await invite([ada], other.apiKey)).json.data[0]
    await accept(theirs.attributes.url)
    await expect(accept(url)).rejects.toThrow('ada@example.com already belongs to a user account.')
    expect((await list())[0]?.attributes.status).toBe('PENDING')
  })

  test.each(Object.entries(partyInvitationTransitions))(
    'an invitation with the status %s follows the table of transitions',
    async (before, transitions) => {
      const { id, url } = await inviteOne(ada)
      const reach = { PENDING: undefined, ACCEPTED: accept, DECLINED: decline, REVOKED: () => revoke(id).then(ok) }
      await reach[before as keyof typeof reach]?.(url)
      expect(await statusOf(id)).toBe(before)
      const events = Object.keys(partyInvitationTransitions.PENDING)
      for (const event of before === 'PENDING' ? [] : events) {
        if (event === 'revoke' && before === 'REVOKED') continue
        if (event === 'revoke') expectRefusal(await revoke(id), 'conflict')
        else await expect(event === 'accept' ? accept(url) : decline(url)).rejects.toThrow(`this one is ${before}`)
      }
      expect(Object.keys(transitions)).toHaveLength(before === 'PENDING' ? 3 : 0)
      expect(await statusOf(id)).toBe(before)
    },
  )

  test('revoking an invitation returns meta.deleted, even the second time', async () => {
    const { id } = await inviteOne(ada)
    const answers: Answer[] = [ok(await revoke(id)), ok(await revoke(id))]
    for (const { json } of answers) {
      expect(json).toMatchObject({ data: { attributes: { status: 'REVOKED', url: null } }, meta: { deleted: true } })
    }
    expectRefusal(await revoke('inv_missing'), 'not_found')
  })

  test('only callers with all scopes of a member can send invitations and see the links', async () => {
    const lesser = scopes.filter((scope) => scope !== 'payments.create')
    const key = await addKey(world, { partyId, agentId: null, scopes: lesser })
    const refused = await invite([ada], key)
    expectRefusal(refused, 'forbidden')
    expect(refused.json.errors[0].detail).toContain('lacks payments.create')
    const { url } = await inviteOne(ada)
    expect((await list('', key))[0]?.attributes).toMatchObject({ status: 'PENDING', url: null })
    expect((await list())[0]?.attributes.url).toBe(url)
  })

  test('a user with the role MEMBER cannot send invitations', async () => {
    const { userId, token } = await addUserToken(world, partyId)
    ok(await invite([ada], token))
    await world.store.transaction(async (tx) => {
      await tx.db.updateTable('users').set({ role: 'MEMBER' }).where('id', '=', userId).execute()
    })
    expectRefusal(await invite([bob], token), 'forbidden')
  })
})
