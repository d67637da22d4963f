import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSite, type Site } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import { realSystem } from '../../src/core/system.ts'
import { sqlite } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import { initializeMessage, modernRequest } from './hosting.ts'

/** Tests that, in both protocol versions, each request of a host counts toward the API's rate limit. */

const address = 'http://127.0.0.1:4010'
let world: World
let site: Site
beforeAll(async () => {
  // The endpoint sleeps between polls. The fake `sleep` would advance the clock each time, so the minute of the rate
  // limit would soon end.
  const steadySystem = { ...fakeSystem({ now: Date.now() }), sleep: realSystem.sleep }
  world = await createWorld(sqlite, { system: steadySystem, rateLimit: 10 })
  const { service, store, system } = world
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  site = await createSite({ config: loadConfig({ env: {} }), service, store, publicUrl: () => address, system, log })
})
afterAll(async () => {
  await site.close()
  await world.drop()
})

const ask = (method: string, body?: object, headers: Record<string, string> = {}) =>
  site.fetch(
    new Request(`${address}/mcp`, {
      method,
      headers: {
        Authorization: `Bearer ${world.agentKey}`,
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )

describe('the rate limit of a credential', () => {
  test('each MCP request counts once, even a tool call, and every kind of request is refused above the limit', async () => {
    const session = (await ask('POST', initializeMessage())).headers.get('mcp-session-id') ?? ''
    const inSession = { 'Mcp-Session-Id': session, 'Mcp-Protocol-Version': '2025-11-25' }
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } }
    expect(JSON.stringify(await (await ask('POST', call, inSession)).json())).toContain('agent_key')
    // The limit is ten: the two requests above and this one leave seven.
    expect((await world.get('/whoami')).headers.get('x-ratelimit-remaining')).toBe('7')
    for (let count = 0; count < 7; count++) await ask('POST', { ...call, method: 'ping' }, inSession)
    const modern = modernRequest('tools/list')
    const refused = [
      await ask('POST', initializeMessage()),
      await ask('POST', modern.body, modern.headers),
      await ask('POST', call, inSession),
      await ask('GET', undefined, inSession),
      await ask('DELETE', undefined, inSession),
    ]
    for (const response of refused) {
      expect(response.status).toBe(429)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
      expect(((await response.json()) as { error: { message: string } }).error.message).toContain(
        '10 requests a minute',
      )
    }
    expect((await world.get('/whoami')).status).toBe(429)
  })
})
