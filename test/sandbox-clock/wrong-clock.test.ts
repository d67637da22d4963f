import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { readTimes } from '../../src/service/store/clock.ts'
import { proveBooks, readBooks } from '../ledger/books.ts'
import { expectFirst, expectReplay } from '../request/replays.ts'
import { onEachDatabase, postgres, sqlite, type TestDatabase } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'

const second = 1000
const hour = 3600 * second
const day = 24 * hour
const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }

const now = async (world: World) => Date.parse((await world.get('/simulations/clock')).json.data.attributes.now)
const issueCard = (world: World, idempotencyKey: string) => world.post('/agent-cards', card, { idempotencyKey })
const warnings = ({ logged }: World) => logged.filter((line) => line.includes("this machine's clock"))
/** Returns the system of a second machine. Its clock runs as fast as that of `system`, but can be set ahead or back. */
function createNeighbor(system: FakeSystem): FakeSystem {
  let aheadMs = 0
  const setAhead = (ms: number) => {
    aheadMs = ms
  }
  return { ...system, now: () => system.now() + aheadMs, setAhead }
}

let world: World
let others: World[]

async function openWorld(database: TestDatabase) {
  world = await createWorld(database)
  others = []
}
async function startProcess(system = createNeighbor(world.system)): Promise<World> {
  const other = await anotherProcess(world, system)
  others.push(other)
  return other
}
afterEach(async () => {
  await proveBooks(world.store)
  for (const other of others) await other.drop()
  await world.drop()
})

describe('a machine with a wrong clock that shares a PostgreSQL database', () => {
  beforeEach(() => openWorld(postgres))

  test('a machine whose clock is 8 days ahead forgets no idempotency key and releases no hold', async () => {
    const cardId = await world.issueCard()
    const first = await world.authorize(cardId, 1000, { idempotencyKey: 'once' })
    const wrong = await startProcess()
    wrong.system.setAhead(8 * day)
    expect((await wrong.get(`/card-transactions/${first.json.data.id}`)).json.data.attributes).toMatchObject({
      status: 'authorized',
      held: 1000,
    })
    await wrong.service.upkeep.once()
    expectReplay(await world.authorize(cardId, 1000, { idempotencyKey: 'once' }), first)
    expectReplay(await wrong.authorize(cardId, 1000, { idempotencyKey: 'once' }), first)
    expect((await readBooks(world.store)).transactions).toHaveLength(1)
  })

  test.each(sampleOf([8 * day, -8 * day, 61 * second, -61 * second], 3))(
    'a machine clock that is off by %i ms has no effect and is logged once',
    async (ms) => {
      const wrong = await startProcess()
      wrong.system.setAhead(ms)
      for (let count = 0; count < 3; count++) {
        expect(await now(wrong)).toBe(await now(world))
        await wrong.service.upkeep.once()
        world.system.pass(hour)
      }
      await world.service.upkeep.once()
      expect(warnings(wrong)).toEqual([expect.stringContaining(`"offSeconds":${ms / second}`)])
      expect(warnings(world)).toEqual([])
    },
  )

  test('a machine clock that is off by less than a minute is not logged', async () => {
    const wrong = await startProcess()
    wrong.system.setAhead(59 * second)
    expect(await now(wrong)).toBe(await now(world))
    await wrong.service.upkeep.once()
    expect(warnings(wrong)).toEqual([])
  })

  test('a machine whose clock is 8 days ahead invalidates no token that another machine issued', async () => {
    const { key } = await exchangeToken(world)
    const wrong = await startProcess()
    wrong.system.setAhead(8 * day)
    await exchangeToken(wrong)
    expect((await world.get('/whoami', { key })).status).toBe(200)
    expect((await wrong.get('/whoami', { key })).status).toBe(200)
  })

  test('the time comes from the PostgreSQL server, not from the machine', async () => {
    const system = { ...realSystem, now: () => realSystem.now() + 8 * day }
    const { store, drop } = await postgres.create(system)
    const times = await store.transaction((tx) => readTimes(tx))
    expect(Math.abs(times.realNowMs - realSystem.now())).toBeLessThan(hour)
    expect(store.clock.machineOffMs).toBeGreaterThan(7 * day)
    await drop()
  })
})

describe('a PostgreSQL server whose clock jumps', () => {
  beforeEach(() => openWorld(postgres))

  test('a server clock that jumps 8 days ahead and back causes no idempotency key to be forgotten', async () => {
    let aheadMs = 0
    const system = fakeSystem()
    const server = { ...system, databaseNow: () => system.now() + aheadMs }
    const one = await startProcess(server)
    const first = await issueCard(one, 'once')
    aheadMs = 8 * day
    expectReplay(await issueCard(one, 'once'), first)
    await one.service.upkeep.once()
    const highest = await now(one)
    expect(highest).toBe(system.now() + 8 * day)
    aheadMs = 0
    expectReplay(await issueCard(one, 'once'), first)
    expectReplay(await issueCard(await startProcess(server), 'once'), first)
    system.pass(hour)
    expect(await now(one)).toBe(highest + hour)
  })
})

onEachDatabase('the continuity of the sandbox clock', (database) => {
  beforeEach(() => openWorld(database))

  test.each([-hour, -2 * second, hour])('a machine clock change of %i ms is ignored', async (ms) => {
    const before = await now(world)
    world.system.setAhead(ms)
    expect(await now(world)).toBeGreaterThanOrEqual(before)
    world.system.pass(hour)
    const after = await now(world)
    expect(after - before).toBeGreaterThanOrEqual(hour - 2 * second)
    expect(after - before).toBeLessThanOrEqual(hour)
  })

  test('after a restart, the sandbox clock continues from the stored time if the machine clock is behind', async () => {
    const before = await now(world)
    await world.service.upkeep.once()
    const machine = fakeSystem({ now: before - hour })
    const later = await startProcess(machine)
    expect(await now(later)).toBe(before)
    machine.pass(hour)
    expect(await now(later)).toBe(before + hour)
  })

  test('without a stored time, the sandbox clock continues from the time of the last finished operation', async () => {
    await world.post('/simulations/clock/advance', { seconds: 5000 })
    await world.issueCard()
    const before = await now(world)
    const later = await startProcess(fakeSystem({ now: world.system.now() - hour }))
    expect(await now(later)).toBe(before)
  })

  test('the sandbox clock can go back in a new epoch', async () => {
    const before = await now(world)
    await world.service.upkeep.once()
    await world.store.transaction((tx) => tx.db.updateTable('clock').set({ epoch: 2, highestMs: 0 }).execute())
    const machine = fakeSystem({ now: before - hour })
    expect(await now(await startProcess(machine))).toBe(before - hour)
  })

  test('the sandbox clock continues while the machine sleeps, so idempotency keys expire meanwhile', async () => {
    const first = await issueCard(world, 'once')
    const before = await now(world)
    world.system.suspend(3 * day)
    expect(await now(world)).toBe(before + 3 * day)
    const again = await issueCard(world, 'once')
    expectFirst(again)
    expect(again.text).not.toBe(first.text)
    await world.service.upkeep.once()
    expect(warnings(world)).toEqual([])
  })

  test('the sandbox clock keeps its pace even if it is read often', async () => {
    world.system.setAhead(-hour)
    const before = await now(world)
    for (let count = 0; count < 50; count++) {
      world.system.pass(0.5)
      await now(world)
    }
    expect((await now(world)) - before).toBe(25)
  })
})

describe('the machine clock, with SQLite', () => {
  beforeEach(() => openWorld(sqlite))

  test('a retry issues no second card after the machine clock jumps 3 days ahead, or back again', async () => {
    const first = await issueCard(world, 'once')
    const before = await now(world)
    world.system.setAhead(3 * day)
    expectReplay(await issueCard(world, 'once'), first)
    await world.service.upkeep.once()
    expect(await now(world)).toBe(before)
    world.system.setAhead(0)
    expectReplay(await issueCard(world, 'once'), first)
    expect((await world.get('/agent-cards')).json.data).toHaveLength(1)
    expect(warnings(world)).toHaveLength(1)
  })

  test('a retry issues no second card if the clock was 3 days ahead and is corrected before a restart', async () => {
    const first = await issueCard(world, 'once')
    const ahead = await startProcess(fakeSystem({ now: world.system.now() + 3 * day }))
    await ahead.issueCard()
    await ahead.get('/agent-cards')
    await ahead.service.upkeep.once()
    await ahead.drop()
    const right = await startProcess(fakeSystem({ now: world.system.now() + hour }))
    expect(await now(right)).toBe(world.system.now() + 3 * day)
    await right.service.upkeep.once()
    expect(warnings(right)).toHaveLength(1)
    expectReplay(await issueCard(right, 'once'), first)
    expectReplay(await issueCard(world, 'once'), first)
  })

  test('the sandbox clock follows a machine clock that is corrected while the machine sleeps', async () => {
    world.system.setAhead(30 * second)
    const before = await now(world)
    world.system.suspend(day)
    world.system.setAhead(0)
    expect(await now(world)).toBe(before + day - 30 * second)
  })
})

async function exchangeToken(target: World): Promise<{ key: string }> {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: target.agentKey,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  })
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const response = await target.service.fetch(
    new Request('http://sandbox.test/oauth/token', { method: 'POST', headers, body: body.toString() }),
  )
  return { key: ((await response.json()) as { access_token: string }).access_token }
}
