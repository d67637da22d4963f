import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent } from 'undici'
import { type HttpServer, startHttpServer } from './http-server.ts'
import { inFlight } from './sandbox.ts'
import { judged, median, type Row, summary } from './table.ts'

const rounds = 3
const bearer = `ak_ntl_sandbox_${'bench-strangers-'.repeat(3)}`
const mebibyte = 1024 * 1024
/** A tick of /proc/PID/stat on Linux. */
const tickMs = 10

/** What strangers, and whoever is refused, can make the server work: a request of each kind beside one for its health. */
export async function measureStrangers(): Promise<Row[]> {
  const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url))
  const env = {
    PAYMENTS_DATABASE_URL: 'sqlite::memory:',
    PAYMENTS_SANDBOX_AGENT_KEY: bearer,
    PAYMENTS_RATE_LIMIT: '1000000',
    PAYMENTS_LOG_LEVEL: 'fatal',
  }
  const server = await startHttpServer([cli, 'serve', '--port', '0'], { env, bearer })
  const agent = new Agent({ connections: 16, pipelining: 1 })
  try {
    const rows: Row[] = []
    await cost(server, agent, health, 500)
    // First, while the memory is that of a server at rest.
    for (const crowd of crowds) rows.push(await crowded(server, crowd))
    for (const kind of kinds) rows.push(await besideHealth(server, agent, kind))
    return rows
  } finally {
    await agent.destroy()
    await server.end()
  }
}

interface Kind {
  name: string
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
  count: number
  /** The bound, as a multiple of the CPU time that a request for the health takes; undefined: the body's size bounds it, or something else. */
  atMost?: number
  millisecondsPerMegabyte?: number
}

const health: Kind = { name: 'healthz', method: 'GET', path: '/healthz', count: 400 }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const mcp = { ...json, accept: 'application/json, text/event-stream' }
const large = (bytes: number) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'x'.repeat(bytes) } })

const kinds: readonly Kind[] = [
  {
    name: 'GET /openapi.json',
    method: 'GET',
    path: '/openapi.json',
    headers: { 'accept-encoding': 'gzip' },
    count: 400,
    atMost: 20,
  },
  {
    name: 'GET /oauth/authorize of nobody',
    method: 'GET',
    path: '/oauth/authorize?client_id=nobody&response_type=code',
    count: 400,
    atMost: 20,
  },
  { name: 'GET /sign-in', method: 'GET', path: '/sign-in', count: 400, atMost: 20 },
  { name: 'an unknown route', method: 'GET', path: '/nowhere', count: 400, atMost: 20 },
  {
    name: 'a credential of nobody',
    method: 'GET',
    path: '/whoami',
    headers: { authorization: 'Bearer nobody' },
    count: 400,
    atMost: 20,
  },
  { name: 'MCP without a credential', method: 'POST', path: '/mcp', headers: mcp, body: '{}', count: 400, atMost: 20 },
  {
    name: 'POST /oauth/register',
    method: 'POST',
    path: '/oauth/register',
    headers: json,
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'] }),
    count: 200,
    atMost: 20,
  },
  {
    name: 'POST /oauth/device/authorize of nobody',
    method: 'POST',
    path: '/oauth/device/authorize',
    headers: form,
    body: 'client_id=nobody',
    count: 200,
    atMost: 20,
  },
  {
    name: 'POST /sign-in, wrong password (bounded by address)',
    method: 'POST',
    path: '/sign-in',
    headers: form,
    body: 'email=owner%40sandbox.example&password=wrong',
    count: 60,
  },
  {
    name: 'POST /agent-cards of nobody, 1 MB',
    method: 'POST',
    path: '/agent-cards',
    headers: json,
    body: ' '.repeat(mebibyte),
    count: 60,
    millisecondsPerMegabyte: 10,
  },
  {
    name: 'POST /mcp of nobody, 4 MB',
    method: 'POST',
    path: '/mcp',
    headers: mcp,
    body: large(4 * mebibyte - 200),
    count: 20,
    millisecondsPerMegabyte: 10,
  },
  {
    name: 'resources/subscribe of 4 MB, no session',
    method: 'POST',
    path: '/mcp',
    headers: { ...mcp, authorization: `Bearer ${bearer}` },
    body: large(4 * mebibyte - 200),
    count: 20,
    millisecondsPerMegabyte: 10,
  },
]

async function besideHealth(server: HttpServer, agent: Agent, kind: Kind): Promise<Row> {
  const [ours, base]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    ours.push(await cost(server, agent, kind, kind.count))
    base.push(await cost(server, agent, health, health.count))
  }
  const ratio = median(ours.map((sample, round) => sample / (base[round] ?? Number.NaN)))
  const perMegabyte = median(ours) / (Buffer.byteLength(kind.body ?? '') / 1e6)
  const judgement =
    kind.millisecondsPerMegabyte === undefined
      ? judged(ratio, kind.atMost === undefined ? undefined : { atMost: kind.atMost })
      : judged(perMegabyte, { atMost: kind.millisecondsPerMegabyte }, ' ms/MB')
  return {
    measurement: `CPU: ${kind.name}, healthz beside it`,
    ours: summary(ours, 'ms'),
    other: summary(base, 'ms'),
    ratio: ratio.toFixed(2),
    ...judgement,
  }
}

/** Milliseconds of CPU that the server takes for a request. */
async function cost(server: HttpServer, agent: Agent, kind: Kind, count: number): Promise<number> {
  const { method, path, headers = {}, body = null } = kind
  const before = cpuMs(server)
  await inFlight(16, Array.from({ length: count }), async () => {
    try {
      const answer = await agent.request({ origin: server.origin, method, path, headers, body })
      await answer.body.dump()
    } catch {
      // Answered before its body was sent: the connection may end over it, and the server's work is done.
    }
  })
  return (cpuMs(server) - before) / count
}

function cpuMs({ pid }: HttpServer): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

interface Crowd {
  name: string
  connections: number
  sends: string
}

const head = 'POST /agent-cards HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n'
const crowds: readonly Crowd[] = [
  { name: '1,000 connections with a part of a head', connections: 1_000, sends: 'GET / HTTP/1.1\r\nHo' },
  {
    name: '800 half bodies of 1 MB',
    connections: 800,
    sends: `${head}Content-Length: ${mebibyte}\r\n\r\n${' '.repeat(mebibyte / 2)}`,
  },
]

const settleMs = 2_000
/** What the memory may stay above where it was: pages that the allocator keeps. */
const mostLeftMegabytes = 60

async function crowded(server: HttpServer, { name, connections, sends }: Crowd): Promise<Row> {
  const before = server.residentMegabytes()
  const { hostname, port } = new URL(server.origin)
  const sockets: Socket[] = []
  let most = before
  for (let count = 0; count < connections; count++) {
    const socket = connect(Number(port), hostname).on('error', () => {})
    socket.resume()
    socket.write(sends)
    sockets.push(socket)
    if (count % 100 === 0) await sleep(20)
    most = Math.max(most, server.residentMegabytes())
  }
  await sleep(settleMs)
  most = Math.max(most, server.residentMegabytes())
  for (const socket of sockets) socket.destroy()
  await sleep(settleMs)
  const left = server.residentMegabytes() - before
  return {
    measurement: `memory: ${name}; at most, and what is left of it`,
    ours: `${most.toFixed(0)} MB`,
    other: `${before.toFixed(0)} MB before`,
    ratio: `${left.toFixed(0)} MB`,
    ...judged(left, { atMost: mostLeftMegabytes }, ' MB'),
  }
}
