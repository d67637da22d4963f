import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createSite, type Site } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { ApiTransport } from '../../src/core/api-transport.ts'
import { newId } from '../../src/core/system.ts'
import { createConnections } from '../../src/service/oauth/connections.ts'
import { replacePassword } from '../../src/service/oauth/sign-in.ts'
import type { Service } from '../../src/service/service.ts'
import { createParty } from '../../src/service/store/parties.ts'
import { createUser, findUser } from '../../src/service/store/users.ts'
import { sqlite } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { addUserToken, createWorld, type World } from '../support/world.ts'
import { authorizationUrl, connect, createApplication, exchangeCode } from './application.ts'
import { address, openBrowser } from './browser.ts'

let world: World
let site: Site
/** The requests that the MCP endpoint sent to the API. */
let sent: { path: string; authorization: string | null }[]

beforeAll(async () => {
  world = await createWorld(sqlite, { system: dateSystem() })
  const { store, system } = world
  const service = {
    ...world.service,
    fetch: (request: Request) => {
      sent.push({ path: new URL(request.url).pathname, authorization: request.headers.get('authorization') })
      return world.service.fetch(request)
    },
    carry: (caller?: Parameters<Service['carry']>[0]): ApiTransport => {
      const carry = world.service.carry(caller)
      return (request, signal) => {
        sent.push({ path: request.path, authorization: request.headers.Authorization ?? null })
        return carry(request, signal)
      }
    },
  }
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const config = loadConfig({ env: {}, flags: {} })
  site = await createSite({ config, service, store, publicUrl: () => address, system, log })
})
beforeEach(() => {
  sent = []
})
afterAll(async () => {
  await site.close()
  await world.drop()
})

interface McpAnswer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: each test reads different fields.
  json: any
}

async function post(
  bearer: string | undefined,
  message: object,
  extraHeaders: Record<string, string> = {},
  path = '/mcp',
): Promise<McpAnswer> {
  const headers = new Headers({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...extraHeaders,
  })
  if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`)
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  const response = await site.fetch(new Request(`${address}${path}`, { method: 'POST', headers, body }))
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : null,
  }
}

/** Opens an MCP session (version 2025-11-25) with a credential. The returned `call` calls a tool in this session. */
async function openSession(bearer: string) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const { headers } = await post(bearer, { id: 0, method: 'initialize', params })
  const session = { 'mcp-session-id': String(headers.get('mcp-session-id')), 'mcp-protocol-version': '2025-11-25' }
  await post(bearer, { method: 'notifications/initialized' }, session)
  const call = (name: string, input: object = {}, by = bearer) =>
    post(by, { id: 1, method: 'tools/call', params: { name, arguments: input } }, session)
  return { session, call }
}

const card = { merchant: { name: 'Books' }, maximumAmount: 900, currency: 'USD' }

describe('the MCP endpoint as a resource server', () => {
  test.each([
    ['without a credential', undefined, false],
    ['with an unknown key', 'ak_ntl_sandbox_0123456789abcdef0123', true],
    ['with an unsigned token', 'a.b.c', true],
  ])('a caller %s gets 401, with the URL of the sign-in metadata', async (_, bearer, hasToken) => {
    const answer = await post(bearer, { id: 1, method: 'ping' })
    expect(answer.status).toBe(401)
    const challenge = String(answer.headers.get('www-authenticate'))
    expect(challenge).toContain(`resource_metadata="${address}/.well-known/oauth-protected-resource/mcp"`)
    expect(challenge).toContain('scope="payments:read payments:write cards:agent customers:read"')
    expect(challenge.includes('error="invalid_token"')).toBe(hasToken)
    const metadata = await world.service.fetch(new Request(`${address}/.well-known/oauth-protected-resource/mcp`))
    expect(await metadata.json()).toMatchObject({ resource: `${address}/mcp`, authorization_servers: [address] })
  })

  test('an access token in the URL is not accepted', async () => {
    const { tokens } = await connect(world)
    const message = { id: 1, method: 'ping' }
    expect((await post(undefined, message, {}, `/mcp?access_token=${tokens.access_token}`)).status).toBe(401)
  })

  test('whoami returns the identity of each kind of credential', async () => {
    const { partyId, agentId } = await world.whoami()
    const user = await addUserToken(world, partyId)
    const { tokens } = await connect(world, { choice: { agent: String(agentId) } })
    const whoami = async (bearer: string) => {
      const { call } = await openSession(bearer)
      return (await call('whoami')).json.result.structuredContent.data.attributes
    }
    const nobody = { userId: null, agentId: null, agentIdentitySource: null, keyId: null, grantId: null, partyId }
    const key = { keyId: expect.stringMatching(/^(apy|agk)_/) }
    const agent = { actorType: 'agent', agentId, agentIdentitySource: 'credential' }
    expect(await whoami(world.apiKey)).toEqual({ ...nobody, ...key, actorType: 'party', credentialKind: 'api_key' })
    expect(await whoami(world.agentKey)).toEqual({ ...nobody, ...key, ...agent, credentialKind: 'agent_key' })
    expect(await whoami(user.token)).toMatchObject({ actorType: 'user', userId: user.userId, keyId: null })
    expect(await whoami(tokens.access_token)).toEqual({
      ...nobody,
      ...agent,
      agentIdentitySource: 'oauth_grant',
      credentialKind: 'oauth_access_token',
      userId: expect.stringMatching(/^usr_/),
      grantId: expect.stringMatching(/^ogr_/),
    })
  })

  test('the endpoint never forwards the caller’s token, but exchanges it for an API token', async () => {
    const { tokens } = await connect(world)
    const { call } = await openSession(tokens.access_token)
    expect((await call('list_wallets')).json.result.isError).not.toBe(true)
    expect((await call('issue_agent_card', card)).json.result.isError).not.toBe(true)
    const toApi = sent.filter(({ path }) => path !== '/oauth/token')
    expect(toApi.map(({ path }) => path.replace(/[?].*/, ''))).toEqual(['/wallets', '/agent-cards'])
    expect(toApi.every(({ authorization }) => /^Bearer xt_ntl_sandbox_/.test(String(authorization)))).toBe(true)
    // The endpoint uses one API token for all requests until shortly before the token expires.
    expect(sent.filter(({ path }) => path === '/oauth/token')).toHaveLength(1)
  })

  test('another agent that sends the id of a session gets the same 404 as for an unknown id', async () => {
    const [mine, theirs] = [await connect(world), await connect(world, { choice: { agent: 'new', name: 'Other' } })]
    const { session } = await openSession(mine.tokens.access_token)
    const message = { id: 1, method: 'tools/list' }
    const foreign = await post(theirs.tokens.access_token, message, session)
    const unknown = await post(theirs.tokens.access_token, message, { ...session, 'mcp-session-id': 'unknown' })
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
    expect((await post(mine.tokens.access_token, message, session)).status).toBe(200)
  })

  test('narrowing or revoking a grant takes effect at the next call in a session', async () => {
    const { tokens } = await connect(world)
    const { call } = await openSession(tokens.access_token)
    const { userId, grantId } = (await call('whoami')).json.result.structuredContent.data.attributes
    const user = await world.store.transaction((tx) => findUser(tx, userId))
    if (user === undefined) throw new Error('The user was not found.')
    const connections = createConnections(world)
    await connections.narrow(user, grantId, ['payments:read'])
    const refused = await call('issue_agent_card', card)
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toMatch(
      /error="insufficient_scope", scope="payments:read cards:agent"/,
    )
    expect((await call('list_wallets')).json.result.isError).not.toBe(true)
    await connections.revoke(user, grantId)
    const ended = await call('list_wallets')
    expect(ended.status).toBe(401)
    expect(ended.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  test('only the tools that the scopes allow are listed', async () => {
    const listToolNames = async (scope: string) => {
      const { tokens } = await connect(world, { scope })
      const { session } = await openSession(tokens.access_token)
      const listed = await post(tokens.access_token, { id: 1, method: 'tools/list' }, session)
      return (listed.json.result.tools as { name: string }[]).map(({ name }) => name)
    }
    const names = await listToolNames('customers:read')
    expect(names).toContain('list_customers')
    expect(names).not.toContain('issue_agent_card')
    expect(names).not.toContain('list_wallets')
  })
})

test('a user who can neither pick nor create an agent connects an application that acts as the user', async () => {
  const { store, system } = world
  const nowMs = system.now()
  const [partyId, userId] = [newId('pty', system, nowMs), newId('usr', system, nowMs)]
  const party = { id: partyId, partyType: 'ORG', displayName: 'Team', email: null, issuedCardsEnabled: 1 } as const
  const user = { id: userId, partyId, role: 'MEMBER', name: 'A member', email: 'member@team.example' } as const
  await store.transaction(async (tx) => {
    await createParty(tx, system, { ...party, createdAtMs: nowMs }, 50_000)
    await createUser(tx, { ...user, createdAtMs: nowMs })
  })
  await replacePassword(store, system, userId, 'correct horse battery')
  const browser = openBrowser(world)
  const application = await createApplication(world)
  const attempt = await authorizationUrl(application, { scope: 'payments:read payments:write account:read' })
  const signIn = await browser.get(attempt.url)
  const consentPage = await browser.submit(signIn, { email: user.email, password: 'correct horse battery' }, '/sign-in')
  expect(consentPage.text).toMatch(/acts as you/i)
  expect(consentPage.text).toContain('See your agents and keys')
  const back = await browser.submit(
    consentPage,
    { agent: 'user', decision: 'allow' },
    new URL(consentPage.url).pathname,
  )
  const tokens = await exchangeCode(application, attempt, back.url)
  const { session, call } = await openSession(tokens.access_token)
  const { attributes } = (await call('whoami')).json.result.structuredContent.data
  expect(attributes).toMatchObject({ actorType: 'user', userId, partyId, agentId: null, agentIdentitySource: null })
  expect(attributes.grantId).toMatch(/^ogr_/)
  // A payment needs no instance id if the token acts as the user (docs/service.md#instance-id).
  const payment = { amount: 100, currency: 'USD', counterparty: { type: 'email', value: 'somebody@example.com' } }
  const paid = await world.post('/payments', payment, { key: tokens.access_token, instanceId: null })
  expect(paid.status).toBe(201)
  const listed = await post(tokens.access_token, { id: 1, method: 'tools/list' }, session, '/mcp')
  const names = (listed.json.result.tools as { name: string }[]).map(({ name }) => name)
  expect(names).not.toContain('issue_agent_card')
})
