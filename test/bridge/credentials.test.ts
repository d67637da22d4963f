import { expect, test } from 'vitest'
import { json, key, messageOf, startBridge, startEndpoint, stream } from './start-bridge.ts'

/** Starts a server at another origin. The server records each request that it gets, with the Authorization header. */
async function startOtherServer() {
  const received: unknown[] = []
  const url = await startEndpoint((request, response) => {
    received.push([request.method, request.url, request.headers.authorization])
    response.writeHead(200, json).end('{}')
  })
  return { received, url }
}

test.each([301, 302, 303, 307, 308])('a redirect with status %s to another origin is not followed', async (status) => {
  const { received, url: elsewhere } = await startOtherServer()
  const url = await startEndpoint(async (request, response) => {
    const message = await messageOf(request)
    const isNotification = message !== undefined && message.id === undefined
    response.writeHead(isNotification ? 202 : status, { Location: `${elsewhere}?token=1` }).end()
  })
  const { ask, notify } = await startBridge(url)
  // After this notification, the bridge opens a stream with GET, for messages that belong to no request.
  notify({ method: 'notifications/initialized' })
  for (const method of ['initialize', 'tools/list', 'tools/call']) {
    const { error } = await ask(method)
    expect(error.message).toBe(
      `The endpoint redirects to another address (status ${status}). Nothing was carried out. If that address is the server that you mean, start the bridge with it.`,
    )
  }
  expect(received).toEqual([])
})

test('a redirect to another origin is not followed while a stream is being resumed', async () => {
  const { received, url: elsewhere } = await startOtherServer()
  let resumed = 0
  const url = await startEndpoint(async (request, response) => {
    await messageOf(request)
    if (request.method === 'POST') return void response.writeHead(200, stream).end('id: 1\ndata:\n\n')
    resumed += 1
    response.writeHead(307, { Location: elsewhere }).end()
  })
  const { ask } = await startBridge(url)
  expect(await ask('tools/call')).toMatchObject({ error: { message: expect.stringContaining('not known') } })
  expect(resumed).toBeGreaterThan(0)
  expect(received).toEqual([])
})

test.each([
  [401, 'invalid_token'],
  [403, 'insufficient_scope'],
])('a %s that points to metadata at another origin causes no request to that origin', async (status, error) => {
  const { received, url: elsewhere } = await startOtherServer()
  const { origin } = new URL(elsewhere)
  const challenge = `Bearer error="${error}", scope="all", resource_metadata="${origin}/.well-known/oauth-protected-resource", authorization_uri="${origin}/authorize"`
  const requests: unknown[] = []
  const url = await startEndpoint(async (request, response) => {
    await messageOf(request)
    requests.push([request.method, request.url, request.headers.authorization])
    response.writeHead(status, { ...json, 'WWW-Authenticate': challenge, Link: `<${origin}>; rel="next"` }).end('{}')
  })
  const { ask } = await startBridge(url)
  const { message } = (await ask('tools/call')).error
  expect(message).toContain('Nothing was carried out.')
  expect(message).not.toContain(origin)
  expect(requests).toEqual([['POST', '/mcp', `Bearer ${key}`]])
  expect(received).toEqual([])
})
