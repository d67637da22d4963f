import * as oauth from 'oauth4webapi'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Connections, createConnections } from '../../src/service/oauth/connections.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { firstOwner } from '../../src/service/store/users.ts'
import { onEachDatabase } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import { connect, transport } from './application.ts'
import { address, openBrowser } from './browser.ts'

const dayMs = 24 * 60 * 60 * 1000
const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }

/** At each call, the service checks the token's grant. A change to a grant therefore also applies to older tokens. */
onEachDatabase('connections', (database) => {
  let world: World
  let connections: Connections
  let user: UserRow
  let connected: Awaited<ReturnType<typeof connect>>

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    world = await createWorld(database, { system: dateSystem() })
    connections = createConnections(world)
    user = (await world.store.transaction(firstOwner)) as UserRow
    connected = await connect(world)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await world.drop()
  })

  const grantId = async () => String((await connections.list(user))[0]?.grantId)
  const statusOf = async (key: string) => (await world.get('/whoami', { key })).status
  const post = async (path: string, form: Record<string, string>) => {
    const request = new Request(`${address}${path}`, { method: 'POST', body: new URLSearchParams(form) })
    return (await (await world.service.fetch(request)).json()) as Record<string, string>
  }
  const exchangeToken = async () => {
    const answer = await post('/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: connected.tokens.access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    })
    return String(answer.access_token)
  }
  const refresh = async (refresh_token: string, { application } = connected, scope?: string) => {
    const { server, client } = application
    const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refresh_token, {
      ...transport(world),
      additionalParameters: scope === undefined ? {} : { scope },
    })
    return oauth.processRefreshTokenResponse(server, client, response)
  }

  test('the access token, exchanged token and refresh token of a revoked connection stop working at once', async () => {
    const keys = [connected.tokens.access_token, await exchangeToken()]
    for (const key of keys) expect(await statusOf(key)).toBe(200)
    await connections.revoke(user, await grantId())
    for (const key of keys) {
      const refused = await world.get('/whoami', { key })
      expect(refused).toMatchObject({
        status: 401,
        json: { errors: [{ detail: expect.stringContaining('Connect again') }] },
      })
      expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"')
    }
    await expect(refresh(connected.tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
    expect(await exchangeToken()).toBe('undefined')
    expect(await connections.list(user)).toEqual([])
  })

  test('a connection that loses scopes does not get them back by a refresh', async () => {
    const keys = [connected.tokens.access_token, await exchangeToken()]
    await connections.narrow(user, await grantId(), ['payments:read'])
    const { access_token } = await refresh(connected.tokens.refresh_token)
    for (const key of [...keys, access_token]) {
      expect((await world.get('/wallets', { key })).status).toBe(200)
      const refused = await world.post('/agent-cards', card, { key })
      expect(refused.status).toBe(403)
      expect(refused.headers.get('www-authenticate')).toContain('scope="payments:read cards:agent"')
    }
    await connections.narrow(user, await grantId(), ['payments:read', 'cards:agent', 'account:read'])
    expect((await world.post('/agent-cards', card, { key: access_token })).status).toBe(403)
  })

  test('a connection can be revoked or limited only by its own user', async () => {
    const otherUser = { ...user, id: `usr_${'0'.repeat(32)}` }
    const id = await grantId()
    await expect(connections.revoke(otherUser, id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(connections.narrow(otherUser, id, [])).rejects.toMatchObject({ code: 'not_found' })
    await expect(connections.revoke(user, `ogr_${'0'.repeat(32)}`)).rejects.toMatchObject({ code: 'not_found' })
    expect(await connections.list(otherUser)).toEqual([])
    expect(await statusOf(connected.tokens.access_token)).toBe(200)
  })

  test('a connection ends when its agent is deleted', async () => {
    const browser = openBrowser(world)
    const other = await connect(world, { browser, choice: { agent: 'new', name: 'Short-lived' } })
    const { agentId } = await world.whoami(other.tokens.access_token)
    const deleted = await world.send('DELETE', `/agents/${agentId}`, { key: world.apiKey })
    expect(deleted.status).toBe(200)
    expect(await statusOf(other.tokens.access_token)).toBe(401)
    await expect(refresh(other.tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
    expect(await statusOf(connected.tokens.access_token)).toBe(200)
  })

  test('a connection lasts exactly a year, even if it is refreshed', async () => {
    let { refresh_token } = connected.tokens
    for (let months = 0; months < 7; months++) {
      vi.setSystemTime(Date.now() + 50 * dayMs)
      refresh_token = String((await refresh(refresh_token)).refresh_token)
    }
    vi.setSystemTime(Date.now() + 15 * dayMs - 60_000)
    const last = await refresh(refresh_token)
    expect(await statusOf(last.access_token)).toBe(200)
    vi.setSystemTime(Date.now() + 60_000)
    expect(await statusOf(last.access_token)).toBe(401)
    await expect(refresh(String(last.refresh_token))).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  // Clients of the Rust SDK, such as Codex, request offline_access without a prompt, and list it again in each refresh.
  test.each([null, 'login', 'consent', 'login consent'])(
    'a connection requested with prompt=%s can be refreshed, whether or not the refresh lists offline_access',
    async (prompt) => {
      const requestedScopes = 'payments:read cards:agent offline_access'
      const reconnected = await connect(world, { scope: requestedScopes, change: { prompt } })
      let { refresh_token } = reconnected.tokens
      for (const scopes of [requestedScopes, undefined, 'offline_access payments:read']) {
        vi.setSystemTime(Date.now() + 15 * 60_000)
        const next = await refresh(refresh_token, reconnected, scopes)
        expect(await statusOf(next.access_token)).toBe(200)
        refresh_token = String(next.refresh_token)
      }
      await expect(refresh(refresh_token, reconnected, 'payments:read payments:write')).rejects.toMatchObject({
        error: 'invalid_scope',
      })
    },
  )

  test('a connection that is unused for 60 days ends', async () => {
    vi.setSystemTime(Date.now() + 60 * dayMs)
    await expect(refresh(connected.tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
  })
})
