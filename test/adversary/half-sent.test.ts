import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { agentSecret } from '../ledger/journal.ts'
import { serveOn } from '../resilience/processes.ts'

const mebibyte = 1024 * 1024
const key = `ak_ntl_sandbox_${agentSecret}`

/** A request whose body is sent only in part. */
interface HalfSent {
  path: string
  /** The length of the body in bytes, as the request's header states it. */
  length: number
  /** The number of bytes of the body that are sent. */
  sent: number
}

/**
 * Sends `count` requests at the same time, each on its own connection. For each request, adds the answer's status to
 * `answers`, or `lost` if the connection closes without an answer. `end` closes all connections.
 */
function sendAll(url: URL, count: number, { path, length, sent }: HalfSent) {
  const answers: string[] = []
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${url.host}`,
    `Authorization: Bearer ${key}`,
    'Idempotency-Key: half',
    'X-Instance-ID: half',
    'Accept: application/json, text/event-stream',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
  ]
  const body = Buffer.alloc(sent, ' ')
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(url.port), url.hostname)
    let status = 'lost'
    socket.once('data', (answer) => {
      status = answer.toString('latin1').slice(9, 12)
      answers.push(status)
    })
    socket.on('error', () => {}).once('close', () => status === 'lost' && answers.push(status))
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    socket.write(body)
    return socket
  })
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  return { answers, end }
}

/** Returns the current and the peak memory of a process in MB, as the operating system reports them. */
function memoryOf(pid: number | undefined): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const megabytes = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') }
}

/** Resets the peak memory of a process to its current memory. */
function resetPeak(pid: number | undefined): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/**
 * The maximum growth of the server's memory during a burst. It includes 16 MiB for the request bodies of one key
 * (docs/service.md#limits-of-request-bodies). The rest is for connections, code and heap.
 */
const maxMegabytes = 60

const bursts = [
  { count: 1_400, path: '/payments', length: 1_048_000, sent: 1_000_000 },
  { count: 300, path: '/mcp', length: 3_100_000, sent: 3_000_000 },
]

/** Sends a few ordinary requests, because a process needs extra memory for its first requests. */
async function warmUp(url: URL): Promise<void> {
  for (let count = 0; count < 5; count++) expect(await whoami(url)).toBe(200)
}

async function whoami({ origin }: URL): Promise<number> {
  const response = await fetch(`${origin}/whoami`, { headers: { Authorization: `Bearer ${key}` } })
  await response.text()
  return response.status
}

/**
 * Sends a burst, waits until all requests that do not fit into the key's share of 16 MiB are refused, and disconnects.
 * Returns the statuses of the answers.
 */
async function sendBurst(url: URL, { count, ...half }: (typeof bursts)[number]): Promise<string[]> {
  const fitting = Math.floor((16 * mebibyte) / half.length)
  const { answers, end } = sendAll(url, count, half)
  await expect.poll(() => answers.length).toBeGreaterThanOrEqual(count - fitting)
  expect(await whoami(url)).toBe(200)
  const refused = [...answers]
  end()
  return refused
}

/** Sends a complete body of the largest size that the service accepts. Returns the status of the answer. */
async function sendWholeBody(url: URL): Promise<string | undefined> {
  const { answers, end } = sendAll(url, 1, { path: '/mcp', length: 4 * mebibyte, sent: 4 * mebibyte })
  await expect.poll(() => answers.length).toBe(1)
  end()
  return answers[0]
}

describe.runIf(process.platform === 'linux').each(bursts)('$count requests with one key to $path', (burst) => {
  test("incomplete request bodies take little memory, and count toward the key's share only until the client disconnects", async () => {
    const served = await serveOn('sqlite::memory:')
    const url = new URL(served.url)
    const { pid } = served.process
    try {
      await warmUp(url)
      resetPeak(pid)
      const before = memoryOf(pid).now
      const answers = await sendBurst(url, burst)
      const { peak } = memoryOf(pid)
      console.info(`${burst.count} × ${burst.sent} bytes at ${burst.path}: ${before} MB before, ${peak} MB at most`)
      expect(answers.filter((answer) => !['429', '503', 'lost'].includes(answer))).toEqual([])
      // Nearly all refusals reach the client, even though the service does not read the bodies.
      expect(answers.filter((answer) => answer === 'lost').length).toBeLessThan(burst.count * 0.05)
      expect(peak - before).toBeLessThanOrEqual(maxMegabytes)
      await expect.poll(() => sendWholeBody(url)).toBe('400')
    } finally {
      await served.stop()
    }
  })
})
