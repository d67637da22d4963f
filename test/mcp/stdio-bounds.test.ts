import { PassThrough, Writable } from 'node:stream'
import { Server } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { serveOverStdio } from '../../src/mcp/stdio.ts'

/** Connects a host to a server. If `reads` is false, the host reads no answers until the test calls `read`. */
function connectHost({ reads }: { reads: boolean }) {
  const stdin = new PassThrough()
  let written = ''
  let waiting: (() => void) | undefined
  let reading = reads
  const stdout = new Writable({
    highWaterMark: 16 * 1024,
    write(chunk, _encoding, taken) {
      written += chunk
      if (reading) taken()
      else waiting = taken
    },
  })
  let served = 0
  const createServer = () => {
    const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', () => {
      served += 1
      return { tools: [{ name: 'x'.repeat(1_000), inputSchema: { type: 'object' as const } }] }
    })
    return server
  }
  const log = { info() {}, warn() {}, error() {} }
  serveOverStdio({ createServer, onClose: () => {}, log, system: realSystem, stdin, stdout })
  const send = (message: object) => stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'host', version: '1' } }
  send({ id: 'first', method: 'initialize', params })
  return {
    stdin,
    send,
    served: () => served,
    answers: () => written.split('\n').filter((line) => line !== ''),
    read: () => {
      reading = true
      waiting?.()
    },
  }
}

test('while a host reads no answers, the server stops reading requests, and it answers all of them later', async () => {
  const host = connectHost({ reads: false })
  const requestCount = 3_000
  for (let id = 0; id < requestCount; id++) {
    host.send({ id, method: 'tools/list' })
    // Lets the server read what has arrived. A real pipe, too, delivers only a limited number of bytes at a time.
    if (id % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await expect.poll(() => host.stdin.isPaused()).toBe(true)
  expect(host.served()).toBeLessThan(requestCount / 2)
  expect(host.stdin.readableLength).toBeGreaterThan(0)
  host.read()
  await expect.poll(() => host.answers().length).toBe(requestCount + 1)
})

test('a line that is too long is refused, and the request on the next line is answered', async () => {
  const host = connectHost({ reads: true })
  const part = Buffer.alloc(1024 * 1024, 'x')
  host.stdin.write('{"jsonrpc":"2.0","id":"long","method":"')
  for (let count = 0; count < 100; count++) host.stdin.write(part)
  host.stdin.write('"}\n')
  host.send({ id: 'next', method: 'tools/list' })
  await expect.poll(() => host.answers().length).toBe(3)
  const answers = host.answers().map((line) => JSON.parse(line))
  expect(answers).toContainEqual({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32600, message: expect.stringContaining('too long') },
  })
  expect(answers.find(({ id }) => id === 'next')).toMatchObject({ result: { tools: [{}] } })
})
