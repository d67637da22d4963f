import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  createHosting,
  eventsOf,
  type Hosting,
  initializeMessage,
  jsonOf,
  modernRequest,
  origin,
  principal,
  rawHost,
  resultOf,
} from './hosting.ts'

let hosting: Hosting
beforeEach(async () => {
  hosting = await createHosting({
    scopesFor: (message) => (JSON.stringify(message).includes('"echo"') ? ['cards:agent', 'cards:read'] : []),
  })
})
afterEach(() => hosting.close())

const metadata = () => `resource_metadata="${new URL('/.well-known/oauth-protected-resource/mcp', hosting.url)}"`
const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const discover = modernRequest('server/discover')

describe('requests without a credential in a header', () => {
  const requests: { kind: string; init: RequestInit }[] = [
    { kind: 'an initialize call', init: { method: 'POST', headers: json, body: JSON.stringify(initializeMessage()) } },
    {
      kind: 'an MCP 2026 request',
      init: { method: 'POST', headers: { ...json, ...discover.headers }, body: JSON.stringify(discover.body) },
    },
    { kind: 'an invalid body', init: { method: 'POST', headers: json, body: '{' } },
    { kind: 'a GET request', init: { headers: { Accept: 'text/event-stream', 'Mcp-Session-Id': 'x' } } },
    { kind: 'a DELETE request', init: { method: 'DELETE', headers: { 'Mcp-Session-Id': 'x' } } },
  ]

  test.each(requests)('$kind gets 401 with the URL of the metadata for signing in', async ({ init }) => {
    const response = await fetch(hosting.url, init)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(`Bearer ${metadata()}, scope="cards:agent"`)
    expect(await jsonOf(response)).toMatchObject({ error: 'unauthorized' })
  })

  test.each(['?access_token=token-of-alice', '?token=token-of-alice'])(
    'a credential in the query string is ignored: %s',
    async (query) => {
      const init = { method: 'POST', headers: json, body: JSON.stringify(initializeMessage()) }
      expect((await fetch(`${hosting.url}${query}`, init)).status).toBe(401)
    },
  )
})

test.each(['Bearer unknown', 'Basic dG9rZW46', 'Bearer', 'Bearer token-of-alice extra', 'token-of-alice'])(
  'the Authorization header "%s" gets 401 with the error invalid_token',
  async (authorization) => {
    const response = await rawHost(hosting.url).send('POST', initializeMessage(), { Authorization: authorization })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
    expect(await jsonOf(response)).toMatchObject({ error: 'invalid_token' })
  },
)

test('after a credential is revoked, all requests with it get 401, even in an open session', async () => {
  const host = rawHost(hosting.url)
  await host.initialize()
  hosting.credentials.delete('token-of-alice')
  expect((await host.call(1, 'connection')).status).toBe(401)
  expect((await host.send('GET')).status).toBe(401)
  expect((await host.send('DELETE')).status).toBe(401)
})

describe('session ids', () => {
  test("another principal's session id gets exactly the same answers as an unknown session id", async () => {
    const alice = rawHost(hosting.url)
    await alice.initialize()
    const progress = { _meta: { progressToken: 1 } }
    const events = eventsOf(await alice.call(1, 'progress', { steps: 1 }, progress))
    const eventId = String((await events.next()).value.id)
    const [foreign, unknown] = [rawHost(hosting.url, 'token-of-bob'), rawHost(hosting.url, 'token-of-bob')]
    foreign.useSession(alice.sessionId())
    unknown.useSession('A'.repeat(43))
    const attempts = [
      (host: typeof foreign) => host.call(2, 'connection'),
      (host: typeof foreign) =>
        host.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }),
      (host: typeof foreign) => host.post({ jsonrpc: '2.0', id: 'any', result: {} }),
      (host: typeof foreign) => host.send('GET'),
      (host: typeof foreign) => host.send('GET', undefined, { 'Last-Event-ID': eventId }),
      (host: typeof foreign) => host.send('DELETE'),
    ]
    for (const attempt of attempts) {
      const [foreignAnswer, unknownAnswer] = [await attempt(foreign), await attempt(unknown)]
      expect(foreignAnswer.status).toBe(404)
      expect(unknownAnswer.status).toBe(404)
      expect(await foreignAnswer.text()).toBe(await unknownAnswer.text())
      const headers = (response: Response) =>
        [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
      expect(headers(foreignAnswer)).toEqual(headers(unknownAnswer))
    }
    expect((await alice.call(3, 'connection')).status).toBe(200)
  })

  test('a malformed session id gets 404, as an unknown one does', async () => {
    const host = rawHost(hosting.url)
    for (const id of ['x', '../etc', "' or 1=1 --", 'A'.repeat(5_000)]) {
      host.useSession(id)
      expect((await host.call(1, 'connection')).status).toBe(404)
    }
  })
})

describe('scopes', () => {
  test.each([
    [
      'MCP 2025',
      async (host: ReturnType<typeof rawHost>) => {
        await host.initialize()
        return host.call(1, 'echo')
      },
    ],
    [
      'MCP 2026',
      async (host: ReturnType<typeof rawHost>) => {
        const { body, headers } = modernRequest('tools/call', { name: 'echo', arguments: {} })
        return host.post(body, headers)
      },
    ],
  ])('if a token lacks a scope, the 403 lists that scope and the token’s own scopes, in %s', async (_, call) => {
    hosting.credentials.set(...principal('narrow', { scopes: ['wallets', 'cards:read'], clientId: 'app' }))
    const response = await call(rawHost(hosting.url, 'token-of-narrow'))
    expect(response.status).toBe(403)
    const scope = 'scope="wallets cards:read cards:agent"'
    expect(response.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", ${scope}, ${metadata()}`)
    expect((await jsonOf(response)).error_description).toContain('cards:agent')
  })

  test('API keys need no scopes, and a token without scopes may send messages that need none', async () => {
    hosting.credentials.set(...principal('narrow', { scopes: [], clientId: 'app' }))
    for (const [name, tool] of [
      ['alice', 'echo'],
      ['narrow', 'connection'],
    ] as const) {
      const host = rawHost(hosting.url, `token-of-${name}`)
      await host.initialize()
      expect((await host.call(1, tool)).status).toBe(200)
    }
  })
})

describe('choices that a host makes by path and header', () => {
  const connectionAt = async (path: string, headers: Record<string, string> = {}) => {
    const host = rawHost(`${hosting.url}${path}`)
    await host.initialize({}, headers)
    return resultOf(await jsonOf(await host.call(1, 'connection')))
  }

  test.each([
    ['', {}, { toolsets: 'none', readOnly: false }],
    ['/x/payments', {}, { toolsets: ['payments'], readOnly: false }],
    ['/x/agents,payments', {}, { toolsets: ['payments', 'agents'], readOnly: false }],
    ['/x/agents%2Cpayments/readonly', {}, { toolsets: ['payments', 'agents'], readOnly: true }],
    [
      '/x/all',
      {},
      {
        toolsets: [
          'default',
          'payments',
          'accounts',
          'customers',
          'agents',
          'credentials',
          'events',
          'sandbox',
          'shops',
        ],
        readOnly: false,
      },
    ],
    ['/readonly', {}, { toolsets: 'none', readOnly: true }],
    ['', { 'X-MCP-Toolsets': 'customers, default' }, { toolsets: ['default', 'customers'], readOnly: false }],
    ['', { 'X-MCP-Readonly': 'true' }, { toolsets: 'none', readOnly: true }],
    ['/x/payments', { 'X-MCP-Toolsets': 'agents' }, { toolsets: ['payments'], readOnly: false }],
  ] as const)('the path /mcp%s with the headers %j selects %j', async (path, headers, expected) => {
    expect(await connectionAt(path, headers)).toMatchObject(expected)
  })

  test.each([
    ['/x/cards', {}, 404, 'cards'],
    ['/x/', {}, 404, '/mcp/x/{toolsets}'],
    ['/other', {}, 404, '/mcp/x/{toolsets}'],
    ['', { 'X-MCP-Toolsets': 'payments,cards' }, 400, 'X-MCP-Toolsets'],
    ['', { 'X-MCP-Readonly': 'yes' }, 400, 'X-MCP-Readonly'],
    ['', { 'X-Instance-ID': 'a\u00e4' }, 400, 'X-Instance-ID'],
    ['', { 'Mcp-Session-Id': 'x' }, 400, 'Mcp-Session-Id'],
  ])('the path /mcp%s with the headers %j is refused with %i and the reason', async (path, headers, status, word) => {
    const response = await rawHost(`${hosting.url}${path}`).post(initializeMessage(), headers)
    expect(response.status).toBe(status)
    expect((await jsonOf(response)).error.message).toContain(word)
  })

  test('a host can choose the instance id in a header or in _meta', async () => {
    expect((await connectionAt('', { 'X-Instance-ID': 'my run' })).instanceId).toBe('my run')
    const host = rawHost(hosting.url)
    await host.initialize({ _meta: { 'payments-mcp/instanceId': 'in meta' } })
    expect(resultOf(await jsonOf(await host.call(1, 'connection'))).instanceId).toBe('in meta')
  })
})

describe('hosts in browsers', () => {
  const headers = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'mcp-session-id' }

  test.each([origin, 'http://localhost:6274', 'http://127.0.0.1:1'])(
    'a page from origin %s may send requests and read answers',
    async (from) => {
      const preflight = await fetch(hosting.url, { method: 'OPTIONS', headers: { ...headers, Origin: from } })
      expect(preflight.status).toBe(204)
      expect(preflight.headers.get('access-control-allow-origin')).toBe(from)
      expect(preflight.headers.get('access-control-allow-headers')).toContain('Mcp-Session-Id')
      const response = await rawHost(hosting.url).post(initializeMessage(), { Origin: from })
      expect(response.status).toBe(200)
      expect(response.headers.get('access-control-allow-origin')).toBe(from)
      expect(response.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id')
      const refused = await fetch(hosting.url, { method: 'POST', headers: { Origin: from } })
      expect(refused.status).toBe(401)
      expect(refused.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
    },
  )

  test.each(['https://evil.example', 'null', 'https://localhost.evil.example'])(
    'origin %s is refused',
    async (from) => {
      for (const method of ['OPTIONS', 'POST']) {
        const response = await fetch(hosting.url, { method, headers: { ...headers, Origin: from } })
        expect(response.status).toBe(403)
        expect(response.headers.get('access-control-allow-origin')).toBeNull()
      }
    },
  )
})
