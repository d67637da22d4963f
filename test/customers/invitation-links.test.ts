import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Scope, scopes } from '../../src/core/permissions.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { readAllRows } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addKey, addUserToken, createWorld, type World } from '../support/world.ts'
import { type Inviters, inviters } from './world.ts'

const path = '/customers/invitation-links'
const hourMs = 60 * 60 * 1000
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

onEachDatabase('invitation links', (database) => {
  let world: World
  let us: Inviters

  beforeAll(async () => {
    world = await createWorld(database)
    us = await inviters(world)
  })
  afterAll(() => world.drop())

  const at = (ms: number) => new Date(world.system.now() + ms).toISOString()
  const proposed = () => [
    { agentId: us.agentId, permissions: ['payments.read', 'cards.read'], limits: { perTransaction: 5000 } },
    { agentId: us.second.agentId, permissions: ['wallets.read'] },
  ]
  const create = (attributes: object = {}, sent: object = {}) => {
    const all = { name: 'Spring', proposedAgents: proposed(), ...attributes }
    return world.post(path, all, { key: world.apiKey, idempotencyKey: null, ...sent })
  }
  async function link(attributes: object = {}): Promise<{ id: string; url: string; token: string }> {
    const { status, text, json } = await create(attributes)
    expect(status, text).toBe(200)
    return { id: json.data.id, ...json.data.attributes }
  }
  const get = (rest = '', key = world.apiKey) => world.get(`${path}${rest}`, { key })
  const revoke = (id: string, key = world.apiKey) =>
    world.send('POST', `${path}/${id}/revoke`, { key, idempotencyKey: null })

  async function open(url: string) {
    const response = await world.service.fetch(new Request(url))
    const text = await response.text()
    return { status: response.status, text, formToken: /name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? '' }
  }
  async function accept(url: string, formToken: string, headers: Record<string, string> = {}, decision = 'accept') {
    const sent = { Origin: new URL(url).origin, 'Sec-Fetch-Site': 'same-origin', ...headers }
    const body = new URLSearchParams({ formToken, decision })
    const response = await world.service.fetch(new Request(url, { method: 'POST', body, headers: sent }))
    const location = response.headers.get('location')
    return { status: response.status, resultUrl: location === null ? '' : new URL(location, url).href }
  }
  const grants = async () =>
    world.store.transaction((tx) =>
      tx.db.selectFrom('delegations').selectAll().where('agentPartyId', '=', us.partyId).orderBy('id').execute(),
    )

  /**
   * Returns the grants that are not in `before`. Ids from the same millisecond are in random order, so new grants may
   * not be last.
   */
  const grantsSince = async (before: readonly { id: string }[]) =>
    (await grants()).filter(({ id }) => before.every((one) => one.id !== id))

  test('the creation of an invitation link returns its token and URL; later reads mask the token', async () => {
    const expiresAt = at(hourMs)
    const link = await create({ expiresAt, tags: { team: 'a' } })
    expect(link.status, link.text).toBe(200)
    const attributes = {
      name: 'Spring',
      status: 'ACTIVE',
      proposedAgents: proposed().map((one) => ({ limits: null, ...one })),
      expiresAt,
      tags: { team: 'a' },
      createdAt: timestamp,
    }
    const relationships = { delegateeParty: { data: { type: 'party', id: us.partyId } } }
    const { token, url } = link.json.data.attributes
    expect(link.json.data).toStrictEqual({
      type: 'invitationLink',
      id: expect.stringMatching(/^ivl_[0-9a-f]{32}$/),
      attributes: { ...attributes, token: expect.stringMatching(/^[\w-]{43}$/), url },
      relationships,
    })
    expect(url).toBe(`http://127.0.0.1:4010/connect/links/${token}`)
    const { id } = link.json.data
    const maskedToken = `${token.slice(0, 4)}…${token.slice(-4)}`
    const view = { type: 'invitationLink', id, attributes: { ...attributes, maskedToken }, relationships }
    expect((await get(`/${id}`)).json.data).toStrictEqual(view)
    expect((await get()).json.data[0]).toStrictEqual(view)
    const revoked = { ...view, attributes: { ...view.attributes, status: 'REVOKED' } }
    expect((await revoke(id)).json.data).toStrictEqual(revoked)
    expect((await get(`/${id}`)).json.data).toStrictEqual(revoked)
  })

  test('an invitation link does not expire by default', async () => {
    expect(await link()).toMatchObject({ expiresAt: null, tags: {} })
  })

  test('the token of an invitation link is stored only as a hash and never logged', async () => {
    const { id, url, token } = await link()
    await open(url)
    await revoke(id)
    expect(JSON.stringify(await readAllRows(world.store))).not.toContain(token)
    expect(world.logged.join('\n')).not.toContain(token)
  })

  test.each<[string, (us: Inviters) => object, number]>([
    ['an agent of another party', ({ other }) => ({ agentId: other.agentId }), 404],
    ['an agent that does not exist', () => ({ agentId: `agt_${'0'.repeat(32)}` }), 404],
    ['an agent without permissions', () => ({ permissions: [] }), 422],
    ['an agent with an unknown permission', () => ({ permissions: ['all'] }), 422],
  ])('an invitation link for %s is refused', async (_, change, status) => {
    const [first] = proposed()
    expect((await create({ proposedAgents: [{ ...first, ...change(us) }] })).status).toBe(status)
  })

  test('an invitation link without agents, with a repeated agent or with an invalid attribute is refused', async () => {
    const [first] = proposed()
    const source = { pointer: '/data/attributes/proposedAgents/1/agentId' }
    expectRefusal(await create({ proposedAgents: [first, first] }), 'invalid_value', { status: 422, source })
    const past = { status: 422, source: { pointer: '/data/attributes/expiresAt' } }
    expectRefusal(await create({ expiresAt: at(0) }), 'invalid_value', past)
    for (const wrong of [{ proposedAgents: [] }, { name: ' ' }, { message: 'Hello' }]) {
      expect((await create(wrong)).status).toBeGreaterThanOrEqual(400)
    }
  })

  test('to another party, an invitation link looks as if it did not exist', async () => {
    const { id } = await link()
    for (const linkId of [id, `ivl_${'0'.repeat(32)}`]) {
      expectRefusal(await get(`/${linkId}`, us.other.apiKey), 'not_found')
      expectRefusal(await revoke(linkId, us.other.apiKey), 'not_found')
    }
    expect((await get('', us.other.apiKey)).json.data).toEqual([])
    expect((await get(`/${id}`)).json.data.attributes.status).toBe('ACTIVE')
  })

  test('invitation links are listed newest first, page by page, and can be filtered by status', async () => {
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) {
      world.system.pass(1)
      ids.unshift((await link({ name })).id)
    }
    await revoke(ids[1] ?? '')
    const listed = async (query: string) => (await get(query)).json
    const idsOf = (json: { data: { id: string }[] }) => json.data.map(({ id }) => id)
    const first = await listed('?limit=2')
    expect(idsOf(first)).toEqual(ids.slice(0, 2))
    const { nextCursor, hasMore } = first.meta.pagination
    expect(hasMore).toBe(true)
    expect(idsOf(await listed(`?limit=1&cursor=${nextCursor}`))).toEqual(ids.slice(2))
    expect(idsOf(await listed('?limit=2&statusFilter=ACTIVE'))).toEqual([ids[0], ids[2]])
    expect(idsOf(await listed('?limit=1&statusFilter=REVOKED'))).toEqual([ids[1]])
    expectRefusal(await get(`?statusFilter=ACTIVE&cursor=${nextCursor}`), 'invalid_value', {
      source: { parameter: 'cursor' },
    })
    expect((await get('?statusFilter=EXPIRED')).status).toBe(400)
  })

  test('an invitation link can be revoked only once', async () => {
    const { id } = await link()
    const answers = await Promise.all([revoke(id), revoke(id)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expectRefusal(await revoke(id), 'conflict')
  })

  test('agents cannot manage invitation links and do not get the tools for them', async () => {
    const { id } = await link()
    expectRefusal(await create({}, { key: world.agentKey }), 'forbidden')
    for (const rest of ['', `/${id}`]) expectRefusal(await get(rest, world.agentKey), 'forbidden')
    expectRefusal(await revoke(id, world.agentKey), 'forbidden')
    const names = toolList({ ...everyTool('sandbox'), actor: 'agent' }).map(({ name }) => name)
    expect(names.filter((name) => name.includes('invitation_link'))).toEqual([])
  })

  test.each<[Scope, string]>([
    ['delegations.read', 'list'],
    ['delegations.read', 'get'],
    ['delegations.create', 'create'],
    ['delegations.delete', 'revoke'],
  ])('an API key needs the scope %s to %s invitation links', async (scope, action) => {
    const { id } = await link()
    const calls: Record<string, (key: string) => Promise<{ status: number }>> = {
      list: (key) => get('', key),
      get: (key) => get(`/${id}`, key),
      create: (key) => create({}, { key }),
      revoke: (key) => revoke(id, key),
    }
    const others = scopes.filter((other) => other !== scope)
    const without = await addKey(world, { partyId: us.partyId, agentId: null, scopes: others })
    // The creator of a link must itself have the permissions that the link asks customers for.
    const requestedScopes: Scope[] =
      action === 'create' ? ['payments.create', 'payments.read', 'wallets.read', 'cards.read'] : []
    const having = await addKey(world, { partyId: us.partyId, agentId: null, scopes: [scope, ...requestedScopes] })
    expect((await calls[action]?.(without))?.status).toBe(403)
    expect((await calls[action]?.(having))?.status).toBe(200)
  })

  test('the page of an invitation link shows the party, the permissions, the limits and the expiry', async () => {
    const { url } = await link({ expiresAt: at(hourMs) })
    const { status, text, formToken } = await open(url)
    expect(status).toBe(200)
    for (const words of ['Sandbox Organization', 'Sandbox shopper', '$50.00', 'See your wallets', 'Answer by']) {
      expect(text).toContain(words)
    }
    expect(formToken).not.toBe('')
    expect(text).not.toContain('<script')
    const { headers } = await world.service.fetch(new Request(url))
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('each person who accepts an invitation link becomes a customer of the proposed agents', async () => {
    const { id, url } = await link()
    const before = await grants()
    const form = await open(url)
    const twice = await Promise.all([accept(url, form.formToken), accept(url, form.formToken)])
    expect(twice.map(({ status }) => status)).toEqual([303, 303])
    const shown = await open(twice[0]?.resultUrl ?? '')
    expect(shown.text).toContain('<h1>Connected</h1>')
    expect(shown.text).not.toContain('<form')
    const newGrants = await grantsSince(before)
    const [customer] = newGrants.map(({ customerPartyId }) => customerPartyId)
    expect(newGrants).toHaveLength(2)
    for (const { agentId, permissions, limits = null } of proposed() as {
      agentId: string
      [more: string]: unknown
    }[]) {
      expect(newGrants.find((one) => one.agentId === agentId)).toMatchObject({
        customerPartyId: customer,
        status: 'ACTIVE',
        permissions: JSON.stringify(permissions),
        limits: limits === null ? null : JSON.stringify(limits),
      })
    }
    expect((await world.get(`/customers/${customer}`)).json.data.id).toBe(customer)
    expect((await world.get(`/payments?customerPartyId=${customer}`)).status).toBe(200)
    expect((await accept(url, (await open(url)).formToken)).status).toBe(303)
    const people = (await grantsSince(before)).map(({ customerPartyId }) => customerPartyId)
    expect([people.length, new Set(people).size]).toEqual([4, 2])
    await revoke(id)
    expect((await world.get(`/customers/${customer}`)).status).toBe(200)
    expect((await open(twice[0]?.resultUrl ?? '')).text).toContain('<h1>Connected</h1>')
  })

  test.each([
    ['been revoked', 'No longer open'],
    ['expired', 'Expired'],
    ['lost its agent', 'No longer open'],
  ])('nobody can join through the open page of an invitation link that has meanwhile %s', async (how, heading) => {
    const { token } = await addUserToken(world, us.partyId)
    const walletId = (await world.get('/wallets')).json.data[0].id
    const agent = await world.post('/agents', { name: 'Passing', walletId }, { key: world.apiKey })
    const proposedAgents = [{ agentId: agent.json.data.id, permissions: ['payments.read'] }]
    const { id, url } = await link({ expiresAt: at(hourMs), proposedAgents })
    const { formToken } = await open(url)
    const before = await grants()
    if (how === 'been revoked') await revoke(id, token)
    if (how === 'expired') world.system.pass(hourMs)
    if (how === 'lost its agent') await world.send('DELETE', `/agents/${agent.json.data.id}`, { key: world.apiKey })
    const { status, resultUrl } = await accept(url, formToken)
    expect(status).toBe(303)
    for (const address of [url, resultUrl]) {
      const { text } = await open(address)
      expect(text).toContain(`<h1>${heading}</h1>`)
      expect(text).not.toContain('<form')
    }
    expect(await grants()).toEqual(before)
    // A link that has expired or lost its agents keeps the status ACTIVE.
    expect((await get(`/${id}`)).json.data.attributes.status).toBe(how === 'been revoked' ? 'REVOKED' : 'ACTIVE')
  })

  test('a form from another page, another site or a public address creates no customer', async () => {
    const [{ url }, other] = [await link(), await link()]
    const before = await grants()
    const { formToken } = await open(url)
    const [partyId, signature] = formToken.split('.')
    const foreign = (await open(other.url)).formToken
    const forged = [foreign, '', '.', `${partyId}.`, `pty_${'0'.repeat(32)}.${signature}`]
    for (const wrong of forged) expect((await accept(url, wrong)).status).toBe(403)
    expect((await accept(url, formToken, { Origin: 'https://evil.example' })).status).toBe(403)
    expect((await accept(url, formToken, {}, 'decline')).status).toBe(400)
    const elsewhere = url.replace('127.0.0.1:4010', 'payments.example')
    const shown = await open(elsewhere)
    expect([shown.status, shown.formToken]).toEqual([200, ''])
    expect((await accept(elsewhere, formToken)).status).toBe(403)
    expect(await grants()).toEqual(before)
    // Nobody has accepted, so the address of the result page shows the invitation again.
    for (const joined of [formToken, ...forged]) {
      expect((await open(`${url}?joined=${joined}`)).text).toContain('asks to connect')
    }
  })

  test.each(['0'.repeat(43), 'ivl_1', '..%2f', '%00'])(
    'the address /connect/links/%s does not exist',
    async (token) => {
      const url = `http://127.0.0.1:4010/connect/links/${token}`
      const { status, text } = await open(url)
      expect(status).toBe(404)
      expect(text).toContain('There is no invitation at this address')
      expect((await accept(url, 'a')).status).toBe(404)
    },
  )
})
