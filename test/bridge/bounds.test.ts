import { expect, test } from 'vitest'
import { nextTurn } from '../../src/core/system.ts'
import { boundedResponse, eventSize, largestBytes } from '../../src/mcp/bridge/bounds.ts'
import { json, stream } from './start-bridge.ts'

const half = 'x'.repeat(largestBytes / 2)
const ready = () => Promise.resolve()

test.each([
  ['an event of a stream', 200, stream, 'an event is larger than 8 MiB'],
  ['a JSON body', 200, json, 'the answer is larger than 8 MiB'],
  ['a body without a content type', 200, {}, 'the answer is larger than 8 MiB'],
  ['the body of a 202 that claims to be a stream', 202, stream, 'the answer is larger than 8 MiB'],
])('%s is read no further once it is larger than 8 MiB', async (_, status, headers, reason) => {
  const reasons: string[] = []
  const exceeded = (words: string) => void reasons.push(words)
  const bodyOf = (text: string) => boundedResponse(new Response(text, { status, headers }), { ready, exceeded }).text()
  expect(await bodyOf(half + half)).toHaveLength(largestBytes)
  expect(reasons).toEqual([])
  await expect(bodyOf(`${half}${half}x`)).rejects.toThrow(reason)
  expect(reasons).toEqual([reason])
})

test('the size limit applies to each event of a stream, and to the whole of any other answer', async () => {
  const exceeded = () => {}
  const text = `${half}\n\n${half}\n\n${half}`
  const bodyOf = (type: string, status = 200) =>
    boundedResponse(new Response(text, { status, headers: { 'Content-Type': type } }), { ready, exceeded }).text()
  expect(await bodyOf('text/event-stream; charset=utf-8')).toHaveLength(text.length)
  expect(await bodyOf('Text/Event-Stream')).toHaveLength(text.length)
  await expect(bodyOf('application/json; note=text/event-stream')).rejects.toThrow('the answer is larger')
  await expect(bodyOf('text/event-stream', 202)).rejects.toThrow('the answer is larger')
})

test('only the first 256 KiB of a refusal are read', async () => {
  const exceeded = () => {
    throw new Error('A refusal must be cut short, and not reported as too large.')
  }
  const parts = Array.from({ length: 100 }, () => Buffer.alloc(64 * 1024, 'x'))
  const refusal = new Response(ReadableStream.from(parts), { status: 500, headers: stream })
  expect(await boundedResponse(refusal, { ready, exceeded }).text()).toHaveLength(256 * 1024)
})

test('the bridge stops reading from the endpoint while the host has unread data', async () => {
  let pulls = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulls += 1
      controller.enqueue(Buffer.from(': \n\n'))
      if (pulls === 100) controller.close()
    },
  })
  let hostReads = () => {}
  const ready = new Promise<void>((resolve) => {
    hostReads = resolve
  })
  const response = new Response(body, { headers: stream })
  const text = boundedResponse(response, { ready: () => ready, exceeded: () => {} }).text()
  for (let turn = 0; turn < 200; turn++) await nextTurn()
  expect(pulls).toBeLessThan(10)
  hostReads()
  expect(await text).toHaveLength(400)
})

test.each([
  ['a line feed', '\n'],
  ['a carriage return', '\r'],
  ['a carriage return and a line feed', '\r\n'],
])('an empty line ends an event if lines end with %s', (_, end) => {
  const line = `data: 1234${end}`
  const [separate, joined] = [`${line}${end}`.repeat(100), line.repeat(100)]
  for (const inChunks of [(text: string) => [text], (text: string) => [...text]]) {
    const largest = (text: string) => {
      const size = eventSize()
      return Math.max(...inChunks(text).map((chunk) => size(Buffer.from(chunk))))
    }
    expect(largest(separate)).toBeLessThanOrEqual(line.length + end.length)
    expect(largest(joined)).toBe(joined.length)
  }
})
