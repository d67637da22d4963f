import { afterAll, beforeAll, expect, test } from 'vitest'
import { mostOfCredential } from '../../src/service/request/waits.ts'
import { ok } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { sqlite } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { addKey, createWorld, type World } from '../support/world.ts'
import { type SleepingSystem, sleepingSystem } from './clock.ts'

/** What many that wait at once take of a process, which is the same on each database. */

let world: World
let system: SleepingSystem
let keys: string[]
let cardId: string

beforeAll(async () => {
  system = sleepingSystem()
  world = await createWorld(sqlite, { system })
  const { partyId } = await world.whoami()
  const scopes = ['cards.read']
  keys = []
  for (let count = 0; count < 10; count++) keys.push(await addKey(world, { partyId, agentId: null, scopes }))
  cardId = await world.issueCard()
})
afterAll(async () => {
  await world.service.waits.close()
  await world.drop()
})

const path = (id = cardId) => `/agent-cards/${id}?waitSeconds=50`

/** Each credential has as many as it may; the deep run has ten thousand. */
const credentials = tries(10)

test('ten thousand wait without a timer’s work or a connection each, and all are woken', async () => {
  const waiting = Array.from({ length: credentials * mostOfCredential }, (_, at) =>
    world.get(path(), { key: keys[at % credentials] ?? '' }),
  )
  await system.sleepers(waiting.length)
  ok(await world.authorize(cardId, 10))
  const statuses = new Set((await Promise.all(waiting)).map((answer) => ok(answer).json.data.attributes.status))
  expect([...statuses]).toEqual(['used'])
  expect(system.sleeping).toBe(0)
})

test('more of one credential than that are refused', async () => {
  const id = await world.issueCard()
  const waiting = Array.from({ length: mostOfCredential }, () => world.get(path(id)))
  await system.sleepers(waiting.length)
  const source = { parameter: 'waitSeconds' }
  const refused = await world.get(path(id))
  expectRefusal(refused, 'rate_limited', { source })
  expect(refused.headers.get('retry-after')).toBe('5')
  ok(await world.get(`/agent-cards/${id}`))
  ok(await world.authorize(id, 10))
  for (const answer of await Promise.all(waiting)) ok(answer)
})

test('whoever leaves waits no longer', async () => {
  const id = await world.issueCard()
  const gone = new AbortController()
  const headers = { Authorization: `Bearer ${world.agentKey}` }
  const request = new Request(`http://sandbox.test${path(id)}`, { headers, signal: gone.signal })
  const waiting = world.service.fetch(request)
  await system.sleepers(1)
  gone.abort()
  await waiting
  expect(system.sleeping).toBe(0)
})

test('are answered as it is when the process ends', async () => {
  const id = await world.issueCard()
  const waiting = world.get(path(id))
  await system.sleepers(1)
  await world.service.readiness.end()
  expect(ok(await waiting).json.data.attributes.status).toBe('active')
  expect(ok(await world.get(path(id))).json.data.attributes.status).toBe('active')
})
