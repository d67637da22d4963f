import { execFileSync } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { agentSecret } from '../ledger/journal.ts'
import { serveOn } from '../resilience/processes.ts'

const mebibyte = 1024 * 1024
const key = `ak_ntl_sandbox_${agentSecret}`

/** One request on a connection of its own, of whose body only a part is sent. */
interface HalfSent {
  path: string
  /** The length that it announces. */
  length: number
  sent: number
}

/** Sends all of them at once, and resolves when each was sent as far as it goes, or was refused. */
async function sendAll(url: URL, count: number, { path, length, sent }: HalfSent) {
  const sockets: Socket[] = []
  const statuses: string[] = []
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
  const each = Array.from({ length: count }, () => {
    const socket = connect(Number(url.port), url.hostname)
    sockets.push(socket)
    socket.once('data', (answer) => statuses.push(answer.toString('latin1').slice(9, 12)))
    const left = new Promise((resolve) => socket.on('error', resolve).once('close', resolve))
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    const written = new Promise((resolve) => socket.write(body, resolve))
    const answered = new Promise((resolve) => socket.once('data', resolve))
    return Promise.race([length === sent ? answered : written, left])
  })
  await Promise.all(each)
  return { sockets, statuses }
}

/** What the operating system says that the process has in memory. */
function mebibytesOf(pid: number | undefined): number {
  return Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString()) / 1024)
}

/** The limit of one key is 16 MiB; the allocator keeps more from the parts that were read and thrown away at once. */
const mostMebibytes = 120

test.each([
  { count: 1_400, path: '/payments', length: 1_048_000, sent: 1_000_000 },
  { count: 300, path: '/mcp', length: 3_100_000, sent: 3_000_000 },
])('$count half-sent bodies of one key at $path take little memory, and are given back', async ({ count, ...half }) => {
  const served = await serveOn('sqlite::memory:')
  const url = new URL(served.url)
  const answer = async () =>
    (await fetch(`${url.origin}/whoami`, { headers: { Authorization: `Bearer ${key}` } })).status
  try {
    // As many that come completely: the code and the heap have their size then.
    const ordinary = await sendAll(url, 1_400, { path: '/payments', length: 2, sent: 2 })
    for (const socket of ordinary.sockets) socket.destroy()
    expect(await answer()).toBe(200)
    const before = mebibytesOf(served.process.pid)

    const { sockets, statuses } = await sendAll(url, count, half)
    expect(await answer()).toBe(200)
    const during = mebibytesOf(served.process.pid)
    expect(statuses.filter((status) => status !== '429' && status !== '503')).toEqual([])
    expect(statuses.length).toBeGreaterThan(0)
    for (const socket of sockets) socket.destroy()

    // The largest body that is read at all.
    const whole = () => sendAll(url, 1, { path: '/mcp', length: 4 * mebibyte, sent: 4 * mebibyte })
    await expect.poll(async () => (await whole()).statuses).toEqual(['400'])
    const after = mebibytesOf(served.process.pid)
    console.info(
      `${count} × ${half.sent} bytes at ${half.path}: ${before} MB before, ${during} MB, ${after} MB afterwards`,
    )
    expect(during - before).toBeLessThanOrEqual(mostMebibytes)
    expect(after - before).toBeLessThanOrEqual(mostMebibytes)
  } finally {
    await served.stop()
  }
})
