import type { IncomingMessage, RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { createRemoteFetch } from '../../src/client/remote.ts'
import { sampleOf } from '../support/depth.ts'
import { startHttpServer } from './http-server.ts'
import { card, cardId, credential, fakeSystem, issue, thrown } from './scripted.ts'

/** Starts an HTTP server on this machine. Returns the server's address and a client that sends requests there. */
async function remote(answer: RequestListener) {
  const server = await startHttpServer(answer)
  const { fetch, close } = createRemoteFetch()
  const client = createClient({
    baseUrl: `${server.address}/api`,
    credential: () => credential,
    instanceId: 'run-1',
    system: fakeSystem(),
    fetch,
  })
  return {
    client,
    address: server.address,
    stop: server.close,
    [Symbol.asyncDispose]: () => close().then(server.close),
  }
}

const answerCard: RequestListener = (_, response) => {
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ data: card }))
}

test('a request reaches the server with its method, path, headers and body', async () => {
  const requests: { request: IncomingMessage; body: string }[] = []
  await using server = await remote(async (request, response) => {
    requests.push({ request, body: await text(request) })
    answerCard(request, response)
  })
  await server.client.operations.issueAgentCard(issue, { idempotencyKey: 'key' })
  await server.client.operations.getAgentCard({ cardId })
  const [first, second] = requests
  expect(first?.request).toMatchObject({ method: 'POST', url: '/api/agent-cards' })
  expect(first?.request.headers).toMatchObject({
    authorization: `Bearer ${credential}`,
    'x-instance-id': 'run-1',
    'idempotency-key': 'key',
    'content-type': 'application/json',
  })
  expect(JSON.parse(first?.body ?? '')).toEqual({ data: { attributes: issue } })
  expect(second?.request).toMatchObject({ method: 'GET', url: `/api/agent-cards/${cardId}` })
  expect(second?.request.headers['content-type']).toBeUndefined()
})

test('the client reuses connections', async () => {
  const sockets = new Set<unknown>()
  await using server = await remote((request, response) => {
    sockets.add(request.socket)
    answerCard(request, response)
  })
  for (let count = 0; count < 10; count++) await server.client.operations.getAgentCard({ cardId })
  expect(sockets.size).toBeLessThanOrEqual(2)
})

test('the client does not follow a redirect', async () => {
  let others = 0
  const other = await startHttpServer((request, response) => {
    others++
    answerCard(request, response)
  })
  await using server = await remote((_, response) => response.writeHead(307, { Location: other.address }).end())
  const error = await thrown(server.client.operations.issueAgentCard(issue))
  expect(error).toMatchObject({ code: 'bad_gateway', attempts: 1, retryable: false })
  expect(others).toBe(0)
  await other.close()
})

test('the client reports why it cannot connect', async () => {
  await using server = await remote(answerCard)
  await server.stop()
  const detail = `Can't reach ${new URL(server.address).host}: the connection was refused.`
  expect(await thrown(server.client.operations.whoami({}))).toMatchObject({
    code: 'service_unavailable',
    detail,
    attempts: 4,
  })
})

test('a request is retried if its connection breaks before or during the answer', async () => {
  let count = 0
  await using server = await remote((request, response) => {
    count++
    if (count === 1) return request.socket.destroy()
    if (count === 2)
      return response.writeHead(200, { 'Content-Length': 500 }).write('{"data":', () => request.socket.destroy())
    answerCard(request, response)
  })
  expect((await server.client.operations.issueAgentCard(issue)).data).toEqual(card)
  expect(count).toBe(3)
})

test('an endless answer is cut off', async () => {
  await using server = await remote((_, response) => {
    const chunk = 'x'.repeat(1024 * 1024)
    const write = () => {
      if (!response.destroyed) response.write(chunk, write)
    }
    write()
  })
  const error = await thrown(server.client.operations.advanceSandboxClock({ seconds: 1 }))
  expect(error).toMatchObject({
    code: 'service_unavailable',
    detail: expect.stringContaining('the answer is too large'),
  })
})

describe('compressed answers', () => {
  const bomb = Buffer.alloc(64 * 1024 * 1024)
  const zeros = (count: number) => bomb.subarray(0, count)

  test.each(
    sampleOf<[string, (bytes: Buffer) => Buffer]>(
      [
        ['gzip', (bytes: Buffer) => gzipSync(bytes)],
        ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
        ['deflate', (bytes: Buffer) => deflateSync(bytes)],
        ['zstd', (bytes: Buffer) => zstdCompressSync(bytes)],
        ['gzip, gzip', (bytes: Buffer) => gzipSync(gzipSync(bytes))],
      ],
      3,
    ),
  )('an answer that is too large when decompressed is not requested again: %s', async (coding, pack) => {
    const body = pack(zeros(bomb.length))
    expect(body.length).toBeLessThan(1024 * 1024)
    let requestCount = 0
    await using server = await remote((_, response) => {
      requestCount++
      response.writeHead(503, { 'Content-Encoding': coding }).end(body)
    })
    const tooLarge = { detail: expect.stringContaining('the answer is too large'), attempts: 1, retryable: false }
    const [read, list, change] = [
      await thrown(server.client.operations.getAgentCard({ cardId })),
      await thrown(server.client.operations.listAgentCards({})),
      await thrown(server.client.operations.issueAgentCard(issue)),
    ]
    expect(read).toMatchObject({ ...tooLarge, next: expect.stringContaining('base address') })
    expect(list).toMatchObject({ ...tooLarge, next: 'Call again with a smaller limit.' })
    expect(change).toMatchObject({ ...tooLarge, next: expect.stringContaining('may have been made') })
    expect(requestCount).toBe(3)
  })

  test('decompression stops at the size limit', async () => {
    const body = gzipSync(bomb)
    await using server = await remote((_, response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(body),
    )
    await thrown(server.client.operations.getAgentCard({ cardId }))
    const before = process.memoryUsage().arrayBuffers
    await thrown(server.client.operations.getAgentCard({ cardId }))
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(bomb.length / 2)
  })

  test('a compressed answer within the size limit is read', async () => {
    const body = gzipSync(JSON.stringify({ data: card }))
    await using server = await remote((_, response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(body),
    )
    expect((await server.client.operations.getAgentCard({ cardId })).data).toEqual(card)
  })
})

test('aborting a call closes its connection', async () => {
  const controller = new AbortController()
  let closed = () => {}
  const connectionClosed = new Promise<void>((resolve) => {
    closed = resolve
  })
  await using server = await remote((_, response) => {
    response.on('close', closed)
    controller.abort(new Error('enough'))
  })
  const call = server.client.operations.whoami({}, { signal: controller.signal })
  expect(await thrown(call)).toMatchObject({ message: 'enough' })
  await connectionClosed
})
