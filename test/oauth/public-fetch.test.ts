import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { outgoingProxy } from '../../src/config/load.ts'
import { createPublicFetch } from '../../src/service/oauth/public-fetch.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Opens a port on this machine and counts the connections to it. */
async function openCountingPort() {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '::', resolve))
  closers.push(() => server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

/** Starts a proxy that records the target of each request and refuses the request. */
async function startRefusingProxy() {
  const targets: string[] = []
  const server = createHttpServer().on('connect', (request, socket) => {
    targets.push(String(request.url))
    socket.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, targets }
}

describe('fetching from URLs that strangers choose', () => {
  test.each([
    '127.0.0.1',
    'localhost',
    '[::1]',
    '0.0.0.0',
    '[::]',
    '[::ffff:127.0.0.1]',
    '2130706433',
    '127.1',
    'localhost.',
  ])('no connection is opened to %s', async (host) => {
    const { port, connections } = await openCountingPort()
    const fetching = createPublicFetch({ httpsProxy: undefined, noProxy: undefined })
    await expect(fetching(`https://${host}:${port}/`)).rejects.toThrow()
    expect(connections()).toBe(0)
  })

  test.each([
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '[fe80::1]',
    '[fd00::1]',
    'intranet',
    'files.local',
  ])('the private host %s is refused', async (host) => {
    const fetching = createPublicFetch({ httpsProxy: undefined, noProxy: undefined })
    await expect(fetching(`https://${host}/`)).rejects.toThrow('private address')
  })

  test('requests go through the proxy, except to private hosts and to hosts in no_proxy', async () => {
    const proxy = await startRefusingProxy()
    const env = { HTTPS_PROXY: proxy.url, no_proxy: 'localhost,.inside.example' }
    const fetching = createPublicFetch(outgoingProxy({ env }))
    for (const host of ['app.example', 'localhost', 'a.inside.example']) {
      await expect(fetching(`https://${host}/client.json`)).rejects.toThrow()
    }
    // The service refuses these hosts itself. The proxy would look up their names in its own network.
    for (const host of ['localhost.', 'sub.localhost', 'intranet', 'files.local', 'metadata.google.internal']) {
      await expect(fetching(`https://${host}/client.json`)).rejects.toThrow('private address')
    }
    expect(proxy.targets).toEqual(['app.example:443'])
  })
})
