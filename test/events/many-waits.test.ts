import { afterAll, beforeAll, expect, test } from 'vitest'
import { maxPerCredential } from '../../src/service/request/waiting-requests.ts'
import { connectHost } from '../mcp/connected.ts'
import { hosts } from '../mcp/hosts.ts'
import { ok } from '../payments/payer.ts'
import { sqlite } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { addKey, createWorld, type World } from '../support/world.ts'
import { type SleepingSystem, sleepingSystem } from './clock.ts'

/**
 * Tests of many simultaneous waits. They use only SQLite, because the cost of a wait does not depend on the database.
 */

/**
 * The number of credentials. The first test begins the maximum number of waits with each credential. In the deep run,
 * that makes about ten thousand waits.
 */
const credentials = tries(157)

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
  for (let count = 0; count < credentials; count++) keys.push(await addKey(world, { partyId, agentId: null, scopes }))
  cardId = await world.issueCard()
})
afterAll(async () => {
  await world.service.waits.close()
  await world.drop()
})

const path = (id = cardId) => `/agent-cards/${id}?waitSeconds=50`

test('a thousand simultaneous waits (ten thousand in the deep run) are all answered when the card is used', async () => {
  const waiting = Array.from({ length: credentials * maxPerCredential }, (_, index) =>
    world.get(path(), { key: keys[index % credentials] ?? '' }),
  )
  await system.sleepers(waiting.length)
  ok(await world.authorize(cardId, 10))
  const statuses = new Set((await Promise.all(waiting)).map((answer) => ok(answer).json.data.attributes.status))
  expect([...statuses]).toEqual(['used'])
  expect(system.sleeping).toBe(0)
})

test('a wait beyond the limit of a credential is answered immediately with the current state, over REST and by an MCP tool', async () => {
  const id = await world.issueCard()
  const [{ open }] = hosts
  const { host, close } = await connectHost(world, open, { system })
  const waiting = Array.from({ length: maxPerCredential }, () => world.get(path(id)))
  await system.sleepers(maxPerCredential)
  const other = world.get(path(id), { key: keys[0] ?? '' })
  await system.sleepers(maxPerCredential + 1)

  expect(ok(await world.get(path(id))).json.data).toMatchObject({ id, attributes: { status: 'active' } })
  const cardAnswer = await host.callTool('get_agent_card', { cardId: id, waitSeconds: 50 })
  expect(JSON.stringify(cardAnswer)).toContain('active')
  expect(system.sleeping).toBe(maxPerCredential + 1)

  ok(await world.authorize(id, 10))
  for (const answer of await Promise.all([other, ...waiting])) {
    expect(ok(answer).json.data.attributes.status).toBe('used')
  }
  await close()
})

test('a wait ends when its client disconnects', async () => {
  const id = await world.issueCard()
  const controller = new AbortController()
  const headers = { Authorization: `Bearer ${world.agentKey}` }
  const request = new Request(`http://sandbox.test${path(id)}`, { headers, signal: controller.signal })
  const waiting = world.service.fetch(request)
  await system.sleepers(1)
  controller.abort()
  await waiting
  expect(system.sleeping).toBe(0)
})

test('waits are answered with the current state when the process shuts down', async () => {
  const id = await world.issueCard()
  const waiting = world.get(path(id))
  await system.sleepers(1)
  await world.service.readiness.end()
  expect(ok(await waiting).json.data.attributes.status).toBe('active')
  expect(ok(await world.get(path(id))).json.data.attributes.status).toBe('active')
})
