import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { nextTurn } from '../../src/core/system.ts'
import { largestBytes } from '../../src/mcp/bridge/bounds.ts'
import { event, json, messageOf, sendEndlessly, startBridge, startEndpoint, stream } from './start-bridge.ts'

const mebibyte = 1024 * 1024
/**
 * The number of bytes after which the endpoint stops an endless answer. The buffers between the endpoint and the bridge
 * hold less than half of this number.
 */
const floodBytes = 64 * mebibyte

const part = 'x'.repeat(64 * 1024)

test.each([
  ['an endless event of a stream', 200, stream, 'data: ', 'an event is larger than 8 MiB'],
  ['an endless event with many lines', 200, stream, 'data: x\ndata: ', 'an event is larger than 8 MiB'],
  ['an endless JSON answer', 200, json, '{"jsonrpc":"2.0","id":1,"result":"', 'the answer is larger than 8 MiB'],
  [
    'an endless JSON answer whose content type mentions a stream in a parameter',
    200,
    { 'Content-Type': 'application/json; note=text/event-stream' },
    '\n\n',
    'the answer is larger than 8 MiB',
  ],
  ['an endless answer without a content type', 200, {}, '', 'the answer is larger than 8 MiB'],
  ['an endless refusal that claims to be a stream', 500, stream, '\n\n', 'answered with status 500'],
  ['an endless response with status 202 that claims to be a stream', 202, stream, '\n\n', 'status 202'],
] as const)('%s is cut off, and the host gets an error', async (_, status, headers, start, words) => {
  let sent: Promise<number> | undefined
  const url = await startEndpoint(async (request, response) => {
    await messageOf(request)
    response.writeHead(status, headers).write(start)
    sent = sendEndlessly(response, start === '\n\n' ? `\n\n${part}` : part, floodBytes)
  })
  const { ask } = await startBridge(url)
  const { error } = await ask('tools/call', { name: 'issue_agent_card' })
  expect(error.message).toContain(words)
  expect(error.message).toContain('not known whether the call was carried out')
  expect(await sent).toBeLessThan(floodBytes / 2)
})

test("an endless event in the bridge's own stream is cut off and logged", async () => {
  let opened = 0
  let sent: Promise<number> | undefined
  const url = await startEndpoint(async (request, response) => {
    if (request.method === 'POST') return void response.writeHead(202).end()
    opened += 1
    response.writeHead(opened > 1 ? 405 : 200, stream)
    if (opened > 1) return void response.end()
    sent = sendEndlessly(response, part, floodBytes)
  })
  const { notify, logged } = await startBridge(url)
  notify({ method: 'notifications/initialized' })
  await expect.poll(() => opened).toBe(2)
  expect(await sent).toBeLessThan(floodBytes / 2)
  expect(logged.join()).toContain('an event is larger than 8 MiB')
})

test('a stream of small events continues beyond the size limit of one event', async () => {
  const events = 200
  const url = await startEndpoint(async (request, response) => {
    const { id } = await messageOf(request)
    response.writeHead(200, stream)
    for (let count = 0; count < events; count++) {
      response.write(event({ method: 'notifications/message', params: { level: 'info', data: part } }))
    }
    response.end(event({ id, result: {} }))
  })
  const { ask, messages } = await startBridge(url)
  expect(events * part.length).toBeGreaterThan(largestBytes)
  expect(await ask('tools/call')).toMatchObject({ result: {} })
  expect(messages).toHaveLength(events + 1)
})

test('the host gets an error instead of a result that is nested too deeply; error data that is too deep is left out', async () => {
  const depth = 100_000
  const url = await startEndpoint(async (request, response) => {
    const { id } = await messageOf(request)
    const nested = '['.repeat(depth) + ']'.repeat(depth)
    const answer = id === 1 ? `"result":{"content":${nested}}` : `"error":{"code":1,"message":"No","data":${nested}}`
    response.writeHead(200, json).end(`{"jsonrpc":"2.0","id":${id},${answer}}`)
  })
  const { ask } = await startBridge(url)
  expect(await ask('tools/call')).toMatchObject({ error: { message: expect.stringContaining('not known') } })
  expect(await ask('tools/call')).toMatchObject({ error: { code: 1, message: 'No' } })
})

test('a host that reads slowly gets every message, and the bridge buffers less than 1 MiB for it', async () => {
  const events = 10_000
  const data = 'x'.repeat(1_000)
  let lines = 0
  let maxBuffered = 0
  const stdout: Writable = new Writable({
    highWaterMark: 16 * 1024,
    async write(chunk, _encoding, done) {
      maxBuffered = Math.max(maxBuffered, stdout.writableLength)
      lines += String(chunk).split('\n').length - 1
      await nextTurn()
      done()
    },
  })
  const url = await startEndpoint(async (request, response) => {
    const { id } = await messageOf(request)
    response.writeHead(200, stream)
    for (let count = 0; count < events; count++) {
      response.write(event({ method: 'notifications/message', params: { data } }))
    }
    response.end(event({ id, result: {} }))
  })
  const { ask } = await startBridge(url, stdout)
  void ask('tools/call')
  await expect.poll(() => lines).toBe(events + 1)
  expect(maxBuffered).toBeLessThan(mebibyte)
})
