import { afterEach, beforeEach, expect, test } from 'vitest'
import { agentSecret } from '../ledger/journal.ts'
import type { Served } from '../packaging/served.ts'
import { postgres } from '../support/databases.ts'
import { openRoute, type Route } from '../support/route.ts'
import { idleMachineMs } from '../support/slowdown.ts'
import { answerWithinMs, Clients } from './clients.ts'
import { serveOn } from './processes.ts'

let database: Awaited<ReturnType<typeof postgres.createEmpty>>
let route: Route
let served: Served

beforeEach(async () => {
  database = await postgres.createEmpty()
  route = await openRoute(database.url)
  served = await serveOn(route.url)
})
afterEach(async () => {
  await served.stop()
  await route.close()
  await database.drop()
})

const headers = { Authorization: `Bearer ak_ntl_sandbox_${agentSecret}`, 'X-Instance-ID': 'silence' }

/** Requests a list and the health check. Expects each answer within `answerWithinMs`. Returns the two HTTP statuses. */
const readStatuses = () =>
  Promise.all(
    ['/agent-cards', '/healthz'].map(async (path) => {
      const startMs = performance.now()
      const response = await fetch(`${served.url}${path}`, { headers })
      await response.text()
      expectWithin(startMs, answerWithinMs)
      return response.status
    }),
  )

function expectWithin(startMs: number, promisedMs: number): void {
  expect(idleMachineMs(performance.now() - startMs, promisedMs)).toBeLessThan(promisedMs)
}

test.each([
  ['sends no answers', () => route.fallSilent()],
  ['refuses connections', () => route.refuse()],
])(
  'while the database %s, every request is answered in time; the service recovers soon afterwards',
  async (_, fail) => {
    const clients = new Clients('silence', served.url)
    await clients.acknowledge(100)
    fail()
    for (const startMs = performance.now(); performance.now() - startMs < 2 * answerWithinMs; )
      for (const status of await readStatuses()) expect(status).toBe(503)
    expect(clients.refused).toBeGreaterThan(0)
    route.open()
    const backMs = performance.now()
    await clients.acknowledge(1)
    expectWithin(backMs, 5_000)
    await clients.acknowledge(100)
    await expect.poll(readStatuses).toEqual([200, 200])
    await clients.stop()
    expect(clients.slowestMs).toBeLessThan(answerWithinMs)
    await clients.journal.repeatAll(served.url)
    await clients.journal.expectOneEffectEach(database.url)
  },
)

test('a process can stop while the database sends no answers', async () => {
  const clients = new Clients('silence', served.url)
  await clients.acknowledge(100)
  route.fallSilent()
  const startMs = performance.now()
  await served.stop()
  expectWithin(startMs, 10_000)
  // The clients can no longer connect to the stopped service.
  await expect(clients.stop()).rejects.toThrow(TypeError)
})
