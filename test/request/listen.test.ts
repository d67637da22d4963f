import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/config/log.ts'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

const mebibyte = 1024 * 1024

interface RawAnswer {
  status: number
  headers: Headers
  text: string
}

/** Sends the parts of a request to a port, and reads the answer until the server closes the connection. */
function sendRaw(port: number, parts: Iterable<string>): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.setEncoding('utf8')
    socket.on('data', (text) => {
      received += text
    })
    socket.on('error', (error) => (received === '' ? reject(error) : resolve(parse(received))))
    socket.on('close', () => resolve(parse(received)))
    socket.on('connect', () => {
      for (const part of parts) socket.write(part)
    })
    socket.setTimeout(120_000, () => socket.destroy(new Error(`No answer: ${received}`)))
  })
}

function parse(received: string): RawAnswer {
  const [head = '', ...rest] = received.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = new Headers(lines.map((line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1).trim()]))
  const body = rest.join('\r\n\r\n')
  const text =
    headers.get('transfer-encoding') === 'chunked' ? body.replaceAll(/^[0-9a-f]+\r\n|\r\n[0-9a-f]*(\r\n|$)/g, '') : body
  return { status: Number(first.split(' ')[1]), headers, text }
}

describe('the HTTP listener', () => {
  let world: World
  let listener: Listener
  let port: number
  let reached: string[] = []

  beforeAll(async () => {
    world = await createWorld(databases[0] as TestDatabase)
    const fetch = (request: Request) => {
      reached.push(request.url)
      return world.service.fetch(request)
    }
    listener = await listen({
      fetch,
      host: '127.0.0.1',
      port: 0,
      system: realSystem,
      log: createLogger({ level: 'silent' }),
    })
    port = Number(new URL(listener.url).port)
  })
  afterEach(() => {
    reached = []
  })
  afterAll(async () => {
    await listener.close()
    await world.drop()
  })

  const get = (headers: readonly string[], to = port, version = '1.1') => {
    const lines = [
      `GET /whoami HTTP/${version}`,
      ...headers,
      `Authorization: Bearer ${world.agentKey}`,
      'Connection: close',
    ]
    return sendRaw(to, [`${lines.join('\r\n')}\r\n\r\n`])
  }
  const filled = (header: string) => header.replaceAll('PORT', String(port))

  test('an idle connection stays open for 75 seconds, longer than most proxies keep idle ones open', async () => {
    const answer = await fetch(`${listener.url}/whoami`, { headers: { Authorization: `Bearer ${world.agentKey}` } })
    expect(answer.headers.get('keep-alive')).toBe('timeout=75')
    await answer.arrayBuffer()
  })

  test('the URL of the listener contains its IP address and port', () => {
    expect(listener.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
  })

  test.each(
    [
      ['Host: localhost:PORT'],
      ['Host: 127.0.0.2:PORT'],
      ['Host: 127.0.0.1:PORT'],
      ['host: LOCALHOST:PORT'],
      ['Host: [::1]:PORT'],
      ['Host: localhost:PORT', 'Origin: http://localhost:PORT'],
      ['Host: 127.0.0.1:PORT', 'Origin: http://127.0.0.1:PORT'],
    ].map((headers) => [headers.join(', '), headers] as const),
  )('a request with %s is served', async (_, headers) => {
    const answer = await get(headers.map(filled))
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('whoami')
    expect(reached).toHaveLength(1)
  })

  test.each(
    [
      ['Host: evil.example'],
      ['Host: evil.example:PORT'],
      ['Host: 127.0.0.1.evil.example:PORT'],
      ['Host: 127.0.0.1.evil:PORT'],
      ['Host: localhost.evil.example:PORT'],
      ['Host: evil-localhost:PORT'],
      ['Host: 0.0.0.0:PORT'],
      ['Host: sandbox.test'],
      ['Host: localhost:PORT', 'Origin: http://evil.example'],
      ['Host: localhost:PORT', 'Origin: http://evil.example:PORT'],
      ['Host: localhost:PORT', 'Origin: null'],
      ['Host: localhost:PORT', 'Origin: file://'],
      ['Host: localhost:PORT', 'Origin: garbage'],
      ['Host: localhost:PORT', 'Origin:'],
      ['Host: localhost:PORT', 'Origin: http://localhost:1'],
      ['Host: localhost:PORT', 'Origin: http://localhost:PORT.evil.example'],
      ['Host: localhost:PORT', 'Origin: http://localhost:PORT@evil.example'],
      ['Host: evil.example', 'Origin: http://evil.example'],
    ].map((headers) => [headers.join(', '), headers] as const),
  )('a request with %s is refused', async (_, headers) => {
    const answer = await get(headers.map(filled))
    expectRefusal({ ...answer, json: JSON.parse(answer.text) }, 'forbidden')
    expect(reached).toEqual([])
  })

  test.each([
    ['no Host header', [], '1.1'],
    ['no Host header in HTTP/1.0', [], '1.0'],
    ['an empty Host header', ['Host:'], '1.1'],
    ['two Host headers', ['Host: localhost:PORT', 'Host: evil.example'], '1.1'],
    ['an invalid Host header', ['Host: ???'], '1.1'],
    ['a Host header that contains a fragment', ['Host: evil.example#localhost:PORT'], '1.1'],
  ])('a request with %s is refused before it reaches the service', async (_, headers, version) => {
    const answer = await get(headers.map(filled), port, version)
    expect([400, 403]).toContain(answer.status)
    expect(answer.text).not.toContain('whoami')
    expect(reached).toEqual([])
  })

  test('a chunked body over 1 MiB is refused without waiting for its end', async () => {
    const head = [
      'POST /agent-cards HTTP/1.1',
      `Host: localhost:${port}`,
      `Authorization: Bearer ${world.agentKey}`,
      'Content-Type: application/json',
      'Idempotency-Key: streamed',
      'X-Instance-ID: run 1',
      'Transfer-Encoding: chunked',
      'Connection: close',
    ]
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const answer = await sendRaw(port, [
      `${head.join('\r\n')}\r\n\r\n`,
      ...Array<string>(mebibyte / 0x10000 + 1).fill(chunk),
    ])
    expectRefusal({ ...answer, json: JSON.parse(answer.text) }, 'invalid_value', { source: { pointer: '' } })
  })

  test('a body with a Content-Length over 1 MiB is refused', async () => {
    const authorization = `Authorization: Bearer ${world.agentKey}`
    const head = `POST /agent-cards HTTP/1.1\r\nHost: localhost:${port}\r\n${authorization}\r\nConnection: close\r\nContent-Length: ${mebibyte + 1}`
    const answer = await sendRaw(port, [`${head}\r\nContent-Type: application/json\r\n\r\n{`])
    expectRefusal({ ...answer, json: JSON.parse(answer.text) }, 'invalid_value', { source: { pointer: '' } })
  })

  test('a GET request with a body is answered with 200 or 400', async () => {
    const lines = [
      'GET /whoami HTTP/1.1',
      `Host: localhost:${port}`,
      `Authorization: Bearer ${world.agentKey}`,
      'Connection: close',
      'Content-Length: 2',
    ]
    const answer = await sendRaw(port, [`${lines.join('\r\n')}\r\n\r\n{}`])
    expect([200, 400]).toContain(answer.status)
  })

  test('a listener on all addresses accepts any IP address in the Host header, but no foreign name', async () => {
    const open = await listen({
      fetch: world.service.fetch,
      host: '0.0.0.0',
      port: 0,
      system: realSystem,
      log: createLogger({ level: 'silent' }),
    })
    const to = Number(new URL(open.url).port)
    expect((await get([`Host: 192.0.2.7:${to}`], to)).status).toBe(200)
    expect((await get([`Host: localhost:${to}`], to)).status).toBe(200)
    expect((await get([`Host: evil.example:${to}`], to)).status).toBe(403)
    expect((await get([`Host: 192.0.2.7.evil.example:${to}`], to)).status).toBe(403)
    await open.close()
  })

  test('a closing listener answers requests in progress before it stops', async () => {
    const { promise: requestArrived, resolve: noteArrival } = Promise.withResolvers<void>()
    const { promise: mayAnswer, resolve: letAnswer } = Promise.withResolvers<void>()
    const slow = await listen({
      fetch: async () => {
        noteArrival()
        await mayAnswer
        return new Response('done')
      },
      host: '127.0.0.1',
      port: 0,
      system: realSystem,
      log: createLogger({ level: 'silent' }),
    })
    const answer = fetch(slow.url)
    await requestArrived
    let closed = false
    const closing = slow.close().then(() => {
      closed = true
    })
    expect(closed).toBe(false)
    letAnswer()
    expect(await (await answer).text()).toBe('done')
    await closing
    await expect(fetch(slow.url)).rejects.toThrow()
  })

  test('a closing listener does not wait for idle connections', async () => {
    const quiet = await listen({
      fetch: async () => new Response('done'),
      host: '127.0.0.1',
      port: 0,
      system: realSystem,
      log: createLogger({ level: 'silent' }),
    })
    const to = Number(new URL(quiet.url).port)
    const unused = connect(to, '127.0.0.1')
    const half = connect(to, '127.0.0.1')
    const ended = [unused, half].map(
      (socket) => new Promise((resolve) => socket.on('error', resolve).on('close', resolve)),
    )
    half.write('GET / HTTP/1.1\r\nHost: lo')
    expect(await (await fetch(quiet.url)).text()).toBe('done')
    await quiet.close()
    await Promise.all(ended)
  })

  describe('a listener with a public URL and CORS paths', () => {
    let guarded: Listener
    let to: number
    const served: string[] = []
    beforeAll(async () => {
      guarded = await listen({
        fetch: async (request) => {
          served.push(`${request.method} ${new URL(request.url).pathname}`)
          return new Response('served')
        },
        host: '127.0.0.1',
        port: 0,
        publicUrl: 'https://pay.example/base',
        corsPaths: (path) => path.startsWith('/mcp'),
        allowedOrigins: ['https://inspector.example'],
        system: realSystem,
        log: createLogger({ level: 'silent' }),
      })
      to = Number(new URL(guarded.url).port)
    })
    afterAll(() => guarded.close())

    const ask = (path: string, host: string, origin?: string, method = 'POST') => {
      served.length = 0
      const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', 'Content-Length: 0']
      if (origin !== undefined) lines.push(`Origin: ${origin}`)
      return sendRaw(to, [`${lines.join('\r\n')}\r\n\r\n`])
    }

    test.each([
      ['/payments', 'pay.example', undefined],
      ['/payments', 'pay.example', 'https://pay.example'],
      ['/payments', 'pay.example:443', 'https://pay.example'],
      ['/payments', 'localhost:PORT', 'https://pay.example'],
      ['/mcp', 'localhost:PORT', 'http://localhost:6274'],
      ['/mcp', 'localhost:PORT', 'http://127.0.0.1:1'],
      ['/mcp', 'localhost:PORT', 'https://[::1]:1'],
      ['/mcp/x/all?a=b', 'pay.example', 'https://inspector.example'],
    ])('a request to %s with Host %s and Origin %s is served', async (path, host, origin) => {
      expect((await ask(path, host.replace('PORT', String(to)), origin)).status).toBe(200)
      expect(served).toHaveLength(1)
    })

    test.each([
      ['/payments', 'localhost:PORT', 'http://localhost:6274'],
      ['/payments', 'pay.example', 'https://inspector.example'],
      ['/payments?/mcp', 'pay.example', 'https://inspector.example'],
      ['/x/../mcp/../payments', 'pay.example', 'https://inspector.example'],
      ['/payments', 'pay.example', 'http://pay.example:80'],
      ['/payments', 'localhost:PORT', 'https://pay.example.evil.example'],
      ['/mcp', 'pay.example.evil.example', undefined],
      ['/mcp', 'evil.example', 'http://localhost:6274'],
      ['/mcp', 'localhost:PORT', 'https://evil.example'],
      ['/mcp', 'localhost:PORT', 'null'],
      ['/mcp', 'localhost:PORT', 'https://inspector.example.evil.example'],
      ['/mcp', 'localhost:PORT', 'http://inspector.example'],
      ['/mcp', 'localhost:PORT', 'https://inspector.example:8443'],
      ['/mcp', 'localhost:PORT', 'https://localhost.evil.example'],
      ['/mcp', 'localhost:PORT', 'ftp://localhost'],
    ])('a request to %s with Host %s and Origin %s is refused, as is its preflight', async (path, host, origin) => {
      for (const method of ['POST', 'OPTIONS']) {
        const answer = await ask(path, host.replace('PORT', String(to)), origin, method)
        expectRefusal({ ...answer, json: JSON.parse(answer.text) }, 'forbidden')
        expect(served).toEqual([])
      }
    })

    test('a request with a foreign Host is refused before its body arrives', async () => {
      const head = 'POST /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n'
      expect((await sendRaw(to, [head])).status).toBe(403)
    })
  })
})

describe('local callers', () => {
  const isLocalCaller = async (headers: Record<string, string>) => {
    let local: boolean | undefined
    const listener = await listen({
      fetch: async (_request, caller) => {
        local = caller.local
        return new Response('')
      },
      host: '127.0.0.1',
      port: 0,
      system: realSystem,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    })
    await (await fetch(listener.url, { headers })).text()
    await listener.close()
    return local
  }

  test('a caller is local if it connects from this machine and no header shows a proxy', async () => {
    expect(await isLocalCaller({})).toBe(true)
    for (const name of ['Forwarded', 'X-Forwarded-For', 'X-Real-IP', 'Via']) {
      expect(await isLocalCaller({ [name]: '192.0.2.1' })).toBe(false)
    }
  })
})
