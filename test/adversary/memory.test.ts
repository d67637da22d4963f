import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

setFlagsFromString('--expose_gc')
const collectGarbage = runInNewContext('gc') as () => void

let world: World
beforeAll(async () => {
  world = await createWorld(sqlite)
})
afterAll(() => world.drop())

/** Returns a string of 900 characters that is different for each number. */
const longString = (count: number) => `${count}`.padStart(6, '0').repeat(150)

const form = { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'same-origin' }
const json = { 'Content-Type': 'application/json' }

/** Requests that the service refuses. Each contains the given string. */
const requests: Record<string, (value: string) => [path: string, init?: RequestInit]> = {
  'a made-up key': (value) => ['/whoami', { headers: { Authorization: `Bearer sk_ntl_sandbox_${value}` } }],
  'a made-up token': (value) => ['/whoami', { headers: { Authorization: `Bearer eyJhbGciOiJFUzI1NiJ9.${value}.x` } }],
  'an unknown path': (value) => [`/${value}`],
  'no credential': (value) => [
    '/payments',
    { method: 'POST', headers: { ...json, 'Idempotency-Key': value.slice(0, 255) }, body: JSON.stringify({ value }) },
  ],
  'a made-up link': (value) => [`/claim/${value}`],
  'a made-up card link': (value) => [`/cards/${value}`, { method: 'POST', headers: form, body: `token=${value}` }],
  'a made-up client secret of a checkout': (value) => [
    '/checkout/session',
    { method: 'POST', headers: json, body: JSON.stringify({ clientSecret: value }) },
  ],
  'an unknown client id': (value) => [`/oauth/authorize?client_id=${value}&response_type=code`],
  'a made-up authorization code': (value) => [
    '/oauth/token',
    { method: 'POST', headers: form, body: `grant_type=authorization_code&client_id=${value}&code=${value}` },
  ],
  'a made-up session cookie': (value) => ['/connections', { headers: { Cookie: `payments_session=${value}` } }],
}

const requestsPerRound = 500

async function sendAll(request: (value: string) => [string, RequestInit?], from: number): Promise<void> {
  for (let count = from; count < from + requestsPerRound; count++) {
    const [path, init] = request(longString(count))
    const answer = await world.service.fetch(new Request(`http://127.0.0.1:4010${path}`, init))
    await answer.arrayBuffer()
    world.logged.length = 0
  }
}

async function heapBytes(): Promise<number> {
  for (let count = 0; count < 4; count++) {
    collectGarbage()
    // The garbage collector frees some objects only in a later turn of the event loop.
    await setImmediate()
  }
  return process.memoryUsage().heapUsed
}

test.each(Object.entries(requests))('refused requests with %s leave nothing in memory', async (_, request) => {
  // After the first round, every cache with a size limit is full. A cache without a limit would also keep the strings
  // of the second round, which are 450 kB long in total.
  await sendAll(request, 0)
  const before = await heapBytes()
  await sendAll(request, requestsPerRound)
  expect((await heapBytes()) - before).toBeLessThan(requestsPerRound * 900 * 0.5)
})
