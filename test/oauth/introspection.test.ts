import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createConnections } from '../../src/service/oauth/connections.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { firstOwner } from '../../src/service/store/users.ts'
import { sqlite } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { connect, createApplication, mcpResource } from './application.ts'
import { address } from './browser.ts'
import { createForger } from './forge.ts'

describe('introspection', () => {
  let world: World
  let connected: Awaited<ReturnType<typeof connect>>

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    world = await createWorld(sqlite, { system: dateSystem() })
    connected = await connect(world)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await world.drop()
  })

  const ask = async (token: string, key: string | undefined = world.apiKey, form: Record<string, string> = {}) => {
    const headers: Record<string, string> = key === '' ? {} : { authorization: `Bearer ${key}` }
    const body = new URLSearchParams({ token, ...form })
    const request = new Request(`${address}/oauth/introspect`, { method: 'POST', body, headers })
    const response = await world.service.fetch(request)
    expect(response.headers.get('cache-control')).toBe('no-store')
    return {
      status: response.status,
      headers: response.headers,
      json: (await response.json()) as Record<string, unknown>,
    }
  }
  const inactive = { status: 200, json: { active: false } }

  test('the party for which a token acts can see the scopes and expiry of the token', async () => {
    const { tokens, application } = connected
    const { agentId, userId, grantId } = (await world.get('/whoami', { key: tokens.access_token })).json.data.attributes
    expect((await ask(tokens.access_token)).json).toEqual({
      active: true,
      token_type: 'Bearer',
      iss: address,
      aud: mcpResource,
      sub: userId,
      client_id: application.client.client_id,
      scope: 'payments:read payments:write cards:agent customers:read',
      exp: Math.floor(Date.now() / 1000) + 900,
      grant_id: grantId,
      agent_id: agentId,
    })
  })

  test('another party sees the token as inactive', async () => {
    const other = await addParty(world)
    expect(await ask(connected.tokens.access_token, other.apiKey)).toMatchObject(inactive)
  })

  test('introspection without a valid API key is refused', async () => {
    const { access_token } = connected.tokens
    for (const key of ['', 'sk_ntl_sandbox_unknown', access_token]) {
      const refused = await ask(access_token, key)
      expect(refused).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
      expect(refused.json).not.toHaveProperty('active')
      expect(refused.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('a limited grant reduces the scopes of its token; revoked and expired tokens are inactive', async () => {
    const { access_token, refresh_token } = connected.tokens
    const connections = createConnections(world)
    const user = (await world.store.transaction(firstOwner)) as UserRow
    const [{ grantId = '' } = {}] = await connections.list(user)
    await connections.narrow(user, grantId, ['cards:agent'])
    expect((await ask(access_token)).json).toMatchObject({ active: true, scope: 'cards:agent' })
    await connections.revoke(user, grantId)
    expect(await ask(access_token)).toMatchObject(inactive)
    const form = { client_id: String(connected.application.client.client_id) }
    expect(await ask(refresh_token, '', form)).toMatchObject(inactive)
    const again = await connect(world)
    vi.setSystemTime(Date.now() + 900_000)
    expect(await ask(again.tokens.access_token)).toMatchObject(inactive)
  })

  test('a correctly signed token is inactive if its user or application differs from that of its grant', async () => {
    const forger = await createForger(world, connected.tokens.access_token)
    expect((await ask(await forger.sign())).json).toMatchObject({ active: true })
    for (const claims of [{ sub: `usr_${'0'.repeat(32)}` }, { client_id: `ocl_${'0'.repeat(32)}` }]) {
      expect(await ask(await forger.sign(claims))).toMatchObject(inactive)
    }
  })

  test('a refresh token is active only for its own application', async () => {
    const { refresh_token } = connected.tokens
    const clientFields = { client_id: connected.application.client.client_id }
    const other = { client_id: (await createApplication(world)).client.client_id }
    expect((await ask(refresh_token, '', clientFields)).json).toMatchObject({ active: true, ...clientFields })
    expect((await ask(refresh_token, '', other)).json).not.toMatchObject({ active: true })
    expect((await ask(refresh_token)).json).not.toMatchObject({ active: true })
  })

  test.each(['a.b.c', 'text', 'hashed:text', ''])('the malformed token %j is not active', async (token) => {
    const answer = await ask(token, world.apiKey, { client_id: connected.application.client.client_id })
    expect(answer.json).not.toMatchObject({ active: true })
    expect(answer.status).toBeLessThan(500)
  })
})
