import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { agentSecret } from '../ledger/journal.ts'
import { serveOn } from '../resilience/processes.ts'

const mebibyte = 1024 * 1024
const key = `ak_ntl_sandbox_${agentSecret}`

/** A request on its own connection that sends only part of its body. */
interface HalfSent {
  path: string
  /** The body length that its header announces. */
  length: number
  sent: number
}

/** Sends `count` requests at once. `answers` has each status, or `lost` if the connection was cut before an answer. */
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

/** Returns the process's memory according to the operating system, now and at its peak, in MB. */
function memoryOf(pid: number | undefined): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const megabytes = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') }
}

/** Resets the peak of the process's memory. */
function resetPeak(pid: number | undefined): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/**
 * The most that memory may grow. 16 MiB of it are one key's share. The rest is for connections, and for the code and
 * heap that the first burst needs.
 */
const maxMegabytes = 60

const bursts = [
  { count: 1_400, path: '/payments', length: 1_048_000, sent: 1_000_000 },
  { count: 300, path: '/mcp', length: 3_100_000, sent: 3_000_000 },
]

/** Sends a few ordinary requests, because the first requests make a process use more memory. */
async function warmUp(url: URL): Promise<void> {
  for (let count = 0; count < 5; count++) expect(await whoami(url)).toBe(200)
}

async function whoami({ origin }: URL): Promise<number> {
  const response = await fetch(`${origin}/whoami`, { headers: { Authorization: `Bearer ${key}` } })
  await response.text()
  return response.status
}

/** Sends a burst, waits until every request beyond the share is refused, and disconnects. Returns the answers. */
async function sendBurst(url: URL, { count, ...half }: (typeof bursts)[number]): Promise<string[]> {
  const fitting = Math.floor((16 * mebibyte) / half.length)
  const { answers, end } = sendAll(url, count, half)
  await expect.poll(() => answers.length).toBeGreaterThanOrEqual(count - fitting)
  expect(await whoami(url)).toBe(200)
  const refused = [...answers]
  end()
  return refused
}

/** Sends the largest body that the service accepts. Returns the status. */
async function sendWholeBody(url: URL): Promise<string | undefined> {
  const { answers, end } = sendAll(url, 1, { path: '/mcp', length: 4 * mebibyte, sent: 4 * mebibyte })
  await expect.poll(() => answers.length).toBe(1)
  end()
  return answers[0]
}

describe.runIf(process.platform === 'linux').each(bursts)('$count half-sent bodies of one key at $path', (burst) => {
  test('take little memory in a fresh process, and free their share afterwards', async () => {
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
      // A refusal reaches the client even though the service did not read the body.
      expect(answers.filter((answer) => answer === 'lost').length).toBeLessThan(burst.count * 0.05)
      expect(peak - before).toBeLessThanOrEqual(maxMegabytes)
      await expect.poll(() => sendWholeBody(url)).toBe('400')
    } finally {
      await served.stop()
    }
  })
})
