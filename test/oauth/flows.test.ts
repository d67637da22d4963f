import type { IncomingMessage, ServerResponse } from 'node:http'
import { Hono } from 'hono'
import * as oauth from 'oauth4webapi'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { oauthScopes } from '../../src/core/permissions.ts'
import { scopeAliases } from '../../src/core/scope-aliases.ts'
import { mountEndpoints } from '../../src/service/oauth/endpoints.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import {
  authorizationUrl,
  callback,
  connect,
  consent,
  createApplication,
  exchangeCode,
  mcpResource,
  transport,
} from './application.ts'
import { address, openBrowser } from './browser.ts'

onEachDatabase('OAuth', (database) => {
  let world: World

  beforeEach(async () => {
    world = await createWorld(database, { system: fakeSystem({ now: Date.now() }) })
  })
  afterEach(() => world.drop())

  const whoami = async (token: string) => (await world.get('/whoami', { key: token })).json.data?.attributes

  test('a person picks an agent, and the application acts as that agent', async () => {
    const { agentId, partyId } = await world.whoami()
    const { tokens, back } = await connect(world, { choice: { agent: String(agentId) } })
    expect(new URL(back.url).searchParams.get('iss')).toBe(address)
    expect(await whoami(tokens.access_token)).toMatchObject({
      actorType: 'agent',
      agentId,
      partyId,
      userId: expect.stringMatching(/^usr_/),
      agentIdentitySource: 'oauth_grant',
      credentialKind: 'oauth_access_token',
      keyId: null,
      grantId: expect.stringMatching(/^ogr_/),
    })
    const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
    expect((await world.post('/agent-cards', card, { key: tokens.access_token })).status).toBe(200)
    const created = await world.post('/agents', { name: 'Another' }, { key: tokens.access_token })
    expect(created.json.errors[0]).toMatchObject({ code: 'forbidden' })
  })

  test('a person creates an agent while connecting an application', async () => {
    const browser = openBrowser(world)
    const application = await createApplication(world)
    const attempt = await authorizationUrl(application)
    const choice = { agent: 'new', name: 'Travel agent' }
    const back = await consent(browser, attempt.url, choice)
    const tokens = await exchangeCode(application, attempt, back.url)
    const { agentId } = await whoami(tokens.access_token)
    const agent = (await world.get(`/agents/${agentId}`, { key: world.apiKey })).json.data
    expect(agent.attributes).toMatchObject({
      name: 'Travel agent',
      status: 'ACTIVE',
      createdBy: expect.stringMatching(/^usr_/),
    })
    expect((await world.get('/agents', { key: world.apiKey })).json.data).toHaveLength(2)
  })

  test('the application gets access_denied if the person refuses', async () => {
    const application = await createApplication(world)
    const attempt = await authorizationUrl(application)
    const back = new URL((await consent(openBrowser(world), attempt.url, { decision: 'deny' })).url)
    expect(back.origin + back.pathname).toBe(callback)
    expect(Object.fromEntries(back.searchParams)).toMatchObject({
      error: 'access_denied',
      state: attempt.state,
      iss: address,
    })
  })

  test('an application that connects again can act as another agent', async () => {
    const browser = openBrowser(world)
    const first = await connect(world, { browser })
    const second = await connect(world, {
      browser,
      application: first.application,
      choice: { agent: 'new', name: 'Second' },
    })
    const [one, two] = [await whoami(first.tokens.access_token), await whoami(second.tokens.access_token)]
    expect(one.agentId).not.toBe(two.agentId)
    expect(one.grantId).not.toBe(two.grantId)
  })

  test('an application that lacks a scope is told which scopes to request, and can then get them', async () => {
    const { application, browser, tokens } = await connect(world, { scope: 'payments:read offline_access' })
    const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
    const refused = await world.post('/agent-cards', card, { key: tokens.access_token })
    expect(refused).toMatchObject({ status: 403, json: { errors: [{ code: 'forbidden' }] } })
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", scope="payments:read cards:agent", resource_metadata="${address}/.well-known/oauth-protected-resource"`,
    )
    const more = await connect(world, { application, browser, scope: 'payments:read cards:agent' })
    expect((await world.post('/agent-cards', card, { key: more.tokens.access_token })).status).toBe(200)
    expect((await whoami(more.tokens.access_token)).grantId).toBe((await whoami(tokens.access_token)).grantId)
  })

  test('a scope alias, such as agents:operate, grants the scope that it stands for', async () => {
    const scope = 'payments:move customers:invite agents:operate external-accounts:link offline_access'
    const { application, tokens } = await connect(world, { scope })
    const granted = ['cards:agent', 'customers:write', 'external-accounts:link', 'payments:write']
    expect(tokens.scope?.split(' ').toSorted()).toEqual(granted)
    const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
    expect((await world.post('/agent-cards', card, { key: tokens.access_token })).status).toBe(200)
    const { server, client } = application
    const through = { additionalParameters: { resource: mcpResource, scope: 'agents:operate' }, ...transport(world) }
    const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), tokens.refresh_token, through)
    const less = await oauth.processRefreshTokenResponse(server, client, response)
    expect(less.scope).toBe('cards:agent')
  })

  test('each refresh replaces the refresh token, and using a refresh token twice ends the connection', async () => {
    const { application, tokens } = await connect(world)
    const { server, client } = application
    const refresh = async (token: string) => {
      const additionalParameters = { resource: mcpResource }
      const through = { additionalParameters, ...transport(world) }
      const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), token, through)
      return oauth.processRefreshTokenResponse(server, client, response)
    }
    const next = await refresh(tokens.refresh_token)
    expect(next.refresh_token).not.toBe(tokens.refresh_token)
    expect((await world.get('/whoami', { key: next.access_token })).status).toBe(200)
    await expect(refresh(tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
    expect((await world.get('/whoami', { key: next.access_token })).status).toBe(401)
    await expect(refresh(String(next.refresh_token))).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  test('at most one of two simultaneous refreshes succeeds, and the connection ends', async () => {
    const { application, tokens } = await connect(world)
    const { server, client } = application
    const refresh = async () => {
      const response = await oauth.refreshTokenGrantRequest(
        server,
        client,
        oauth.None(),
        tokens.refresh_token,
        transport(world),
      )
      return oauth.processRefreshTokenResponse(server, client, response)
    }
    const results = await Promise.allSettled([refresh(), refresh()])
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeLessThan(2)
    for (const result of results) {
      if (result.status === 'rejected') continue
      expect((await world.get('/whoami', { key: result.value.access_token })).status).toBe(401)
    }
    expect((await world.get('/whoami', { key: tokens.access_token })).status).toBe(401)
  })

  test('revoking the refresh token revokes the access token too', async () => {
    const { application, tokens } = await connect(world)
    const { server, client } = application
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, oauth.None(), tokens.refresh_token, transport(world)),
    )
    const refused = await world.get('/whoami', { key: tokens.access_token })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  test('an access token can be exchanged for another short-lived token of the same grant', async () => {
    const { tokens } = await connect(world)
    expect(tokens).toMatchObject({ expires_in: 900 })
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: tokens.access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    })
    const response = await world.service.fetch(new Request(`${address}/oauth/token`, { method: 'POST', body }))
    const exchanged = (await response.json()) as { access_token: string; expires_in: number }
    expect(exchanged.access_token).toMatch(/^xt_ntl_sandbox_/)
    expect(exchanged.expires_in).toBeLessThanOrEqual(900)
    expect(await whoami(exchanged.access_token)).toEqual(await whoami(tokens.access_token))
    // `expires_in` is rounded down to whole seconds, so the token may stay valid for up to a second longer.
    world.system.pass(exchanged.expires_in * 1000 - 1)
    expect((await world.get('/whoami', { key: exchanged.access_token })).status).toBe(200)
    world.system.pass(1000)
    expectRefusal(await world.get('/whoami', { key: exchanged.access_token }), 'unauthenticated')
  })

  test('grants, sign-in sessions and registered applications survive a restart', async () => {
    const { application, browser, tokens } = await connect(world)
    const { createService } = await import('../../src/service/service.ts')
    const { store, system } = world
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    const restarted = createService({ store, system, environment: 'sandbox', rateLimit: 1000, log })
    const other = { ...world, service: restarted }
    const { server, client } = application
    const response = await oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      tokens.refresh_token,
      transport(other),
    )
    const next = await oauth.processRefreshTokenResponse(server, client, response)
    const authorization = { authorization: `Bearer ${next.access_token}` }
    expect((await restarted.fetch(new Request(`${address}/whoami`, { headers: authorization }))).status).toBe(200)
    const page = await browser.get('/connections')
    expect(page.text).toContain('Test Host')
  })

  test('the database contains no usable token, authorization code or session cookie', async () => {
    const { browser, tokens, back } = await connect(world)
    const code = new URL(back.url).searchParams.get('code')
    const rows = await world.store.transaction(async ({ db }) =>
      JSON.stringify([
        await db.selectFrom('oauthRecords').selectAll().execute(),
        await db.selectFrom('oauthGrants').selectAll().execute(),
        await db.selectFrom('signInSessions').selectAll().execute(),
      ]),
    )
    const cookies = [...browser.cookies.values()].map((value) => value.split('.')[0])
    for (const secret of [tokens.access_token, tokens.refresh_token, code, ...cookies]) {
      expect(String(secret).length).toBeGreaterThan(10)
      expect(rows).not.toContain(secret)
    }
    expect(world.logged.join('\n')).not.toContain(tokens.refresh_token)
  })
})

describe('the discovery of the authorization server and its resources', () => {
  let world: World
  beforeEach(async () => {
    world = await createWorld(sqlite, { system: fakeSystem({ now: Date.now() }) })
  })
  afterEach(() => world.drop())

  const read = async (path: string) => {
    const response = await world.service.fetch(new Request(`${address}${path}`))
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }

  const metadataNames = ['oauth-authorization-server', 'openid-configuration']
  test.each(metadataNames)('/.well-known/%s describes the authorization server', async (name) => {
    const { json } = await read(`/.well-known/${name}`)
    expect(json).toMatchObject({
      issuer: address,
      authorization_endpoint: `${address}/oauth/authorize`,
      token_endpoint: `${address}/oauth/token`,
      registration_endpoint: `${address}/oauth/register`,
      revocation_endpoint: `${address}/oauth/revoke`,
      introspection_endpoint: `${address}/oauth/introspect`,
      device_authorization_endpoint: `${address}/oauth/device/authorize`,
      jwks_uri: `${address}/oauth/jwks`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'Ed25519', 'PS256', 'RS256'],
      authorization_response_iss_parameter_supported: true,
      scopes_supported: ['openid', 'offline_access', ...Object.keys(oauthScopes), ...Object.keys(scopeAliases)],
    })
    expect(json.grant_types_supported).toEqual(
      expect.arrayContaining([
        'authorization_code',
        'refresh_token',
        'client_credentials',
        'urn:ietf:params:oauth:grant-type:token-exchange',
      ]),
    )
    // By default, support for client id metadata documents is not announced at a loopback address.
    expect(json).not.toHaveProperty('client_id_metadata_document_supported')
    expect(json.grant_types_supported).not.toContain('implicit')
    expect(json.grant_types_supported).not.toContain('password')
  })

  test.each([
    ['', address],
    ['/mcp', `${address}/mcp`],
    ['/mcp/x/payments', `${address}/mcp/x/payments`],
    ['/mcp/readonly', `${address}/mcp/readonly`],
    ['/mcp/x/payments,agents/readonly', `${address}/mcp/x/payments,agents/readonly`],
    ['/mcp/x/agents%2Cpayments/readonly', `${address}/mcp/x/agents%2Cpayments/readonly`],
  ])('the metadata for the path %j states the URL of its resource', async (path, resource) => {
    expect((await read(`/.well-known/oauth-protected-resource${path}`)).json).toMatchObject({
      resource,
      authorization_servers: [address],
      scopes_supported: ['payments:read', 'payments:write', 'cards:agent', 'customers:read'],
      bearer_methods_supported: ['header'],
    })
  })

  test.each(metadataNames)('a HEAD request for /.well-known/%s gets status 200 without a body', async (name) => {
    const response = await world.service.fetch(new Request(`${address}/.well-known/${name}`, { method: 'HEAD' }))
    expect([response.status, await response.text()]).toEqual([200, ''])
  })

  test('the discovery endpoint passes on an error of the authorization server', async () => {
    const app = new Hono()
    const refusal = { error: 'temporarily_unavailable' }
    const handle = (_request: IncomingMessage, response: ServerResponse) =>
      response.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(refusal))
    const providers = async () => ({ callback: () => handle }) as never
    mountEndpoints(app, { providers, publicUrl: () => address, system: world.system } as never)
    const answer = await app.request(`${address}/.well-known/openid-configuration`)
    expect([answer.status, await answer.json()]).toEqual([503, refusal])
  })

  test('a path that is not a resource has no resource metadata', async () => {
    expect((await read('/.well-known/oauth-protected-resource/wallets')).status).toBe(404)
  })

  test('resource metadata requested through localhost has localhost in the URL of the resource', async () => {
    const response = await world.service.fetch(
      new Request('http://localhost:4010/.well-known/oauth-protected-resource/mcp'),
    )
    expect(await response.json()).toMatchObject({
      resource: 'http://localhost:4010/mcp',
      authorization_servers: [address],
    })
  })

  test('the published signing keys contain no private part', async () => {
    const { json } = await read('/oauth/jwks')
    expect(json.keys).toEqual([expect.objectContaining({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })])
    expect(JSON.stringify(json)).not.toContain('"d"')
  })
})
