import { expect, test } from 'vitest'
import { BodyBudget } from '../../src/core/body-budget.ts'
import { boundedText } from '../../src/core/bounded-text.ts'

/** Returns a body in two parts. The first part ends in the middle of a character. */
const sentParts = () =>
  [Buffer.alloc(50_000, 'é').subarray(0, 49_999), Buffer.from([0xa9, 0x21])].map((part) => Uint8Array.from(part))
const text = `${'é'.repeat(25_000)}!`

function requestOf(parts: Uint8Array[]): Request {
  const body = ReadableStream.from(parts)
  return new Request('http://sandbox.test', {
    method: 'POST',
    headers: { 'Transfer-Encoding': 'chunked' },
    body,
    duplex: 'half',
  })
}

const read = (parts: Uint8Array[], maxBytes: number) => {
  const budget = new BodyBudget()
  const from = async function* () {
    yield* parts
  }
  const arrival = { address: '127.0.0.1', announced: Number.POSITIVE_INFINITY, credential: 'known', parts: from }
  return boundedText(requestOf(parts), maxBytes, budget.arrive(arrival).byKey('key_1'))
}

test('the memory of a body from the network is freed after reading, even if the body is too long', async () => {
  for (const [limit, expected] of [
    [50_001, text],
    [50_000, undefined],
  ] as const) {
    const parts = sentParts()
    expect(await read(parts, limit)).toBe(expected)
    expect(parts.map((part) => part.byteLength)).toEqual([0, 0])
  }
})

test('the memory of an in-process body is not freed, because the caller owns it; the limit on the length still applies', async () => {
  const parts = sentParts()
  expect(await boundedText(requestOf(parts), 50_001)).toBe(text)
  expect(parts.map((part) => part.byteLength)).toEqual([49_999, 2])
  expect(await boundedText(requestOf(sentParts()), 50_000)).toBeUndefined()
})
