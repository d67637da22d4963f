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
const pay = (world: World, idempotencyKey: string) => world.post('/agent-cards', card, { idempotencyKey })
const warnings = ({ logged }: World) => logged.filter((line) => line.includes("this machine's clock"))
/** Returns a second machine. Its time passes with the first machine's, but its clock can be set separately. */
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

describe('a machine with a wrong clock, next to another on one PostgreSQL', () => {
  beforeEach(() => openWorld(postgres))

  test('8 days ahead lets no key be forgotten and no hold lapse', async () => {
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
    '%i ms off is logged once and has no effect',
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

  test('a few seconds off is not logged', async () => {
    const wrong = await startProcess()
    wrong.system.setAhead(59 * second)
    expect(await now(wrong)).toBe(await now(world))
    await wrong.service.upkeep.once()
    expect(warnings(wrong)).toEqual([])
  })

  test('does not end the tokens of others', async () => {
    const { key } = await exchangeToken(world)
    const wrong = await startProcess()
    wrong.system.setAhead(8 * day)
    await exchangeToken(wrong)
    expect((await world.get('/whoami', { key })).status).toBe(200)
    expect((await wrong.get('/whoami', { key })).status).toBe(200)
  })

  test('uses the time of a real server', async () => {
    const system = { ...realSystem, now: () => realSystem.now() + 8 * day }
    const { store, drop } = await postgres.create(system)
    const times = await store.transaction((tx) => readTimes(tx))
    expect(Math.abs(times.realNowMs - realSystem.now())).toBeLessThan(hour)
    expect(store.clock.machineOffMs).toBeGreaterThan(7 * day)
    await drop()
  })
})

describe("a database's clock that jumps on PostgreSQL", () => {
  beforeEach(() => openWorld(postgres))

  test('8 days ahead and back lets no key be forgotten', async () => {
    let aheadMs = 0
    const system = fakeSystem()
    const server = { ...system, databaseNow: () => system.now() + aheadMs }
    const one = await startProcess(server)
    const first = await pay(one, 'once')
    aheadMs = 8 * day
    expectReplay(await pay(one, 'once'), first)
    await one.service.upkeep.once()
    const highest = await now(one)
    expect(highest).toBe(system.now() + 8 * day)
    aheadMs = 0
    expectReplay(await pay(one, 'once'), first)
    expectReplay(await pay(await startProcess(server), 'once'), first)
    system.pass(hour)
    expect(await now(one)).toBe(highest + hour)
  })
})

onEachDatabase('time', (database) => {
  beforeEach(() => openWorld(database))

  test.each([-hour, -2 * second, hour])('does not follow a clock that is set by %i ms back', async (ms) => {
    const before = await now(world)
    world.system.setAhead(ms)
    expect(await now(world)).toBeGreaterThanOrEqual(before)
    world.system.pass(hour)
    const after = await now(world)
    expect(after - before).toBeGreaterThanOrEqual(hour - 2 * second)
    expect(after - before).toBeLessThanOrEqual(hour)
  })

  test('does not restart before the latest time that was seen', async () => {
    const before = await now(world)
    await world.service.upkeep.once()
    const machine = fakeSystem({ now: before - hour })
    const later = await startProcess(machine)
    expect(await now(later)).toBe(before)
    machine.pass(hour)
    expect(await now(later)).toBe(before + hour)
  })

  test('does not restart before the latest recorded time, however its process ended', async () => {
    await world.post('/simulations/clock/advance', { seconds: 5000 })
    await world.issueCard()
    const before = await now(world)
    const later = await startProcess(fakeSystem({ now: world.system.now() - hour }))
    expect(await now(later)).toBe(before)
  })

  test('starts over with a new epoch only', async () => {
    const before = await now(world)
    await world.service.upkeep.once()
    await world.store.transaction((tx) => tx.db.updateTable('clock').set({ epoch: 2, highestMs: 0 }).execute())
    const machine = fakeSystem({ now: before - hour })
    expect(await now(await startProcess(machine))).toBe(before - hour)
  })

  test('continues while the machine sleeps, so that idempotency keys end meanwhile', async () => {
    const first = await pay(world, 'once')
    const before = await now(world)
    world.system.suspend(3 * day)
    expect(await now(world)).toBe(before + 3 * day)
    const again = await pay(world, 'once')
    expectFirst(again)
    expect(again.text).not.toBe(first.text)
    await world.service.upkeep.once()
    expect(warnings(world)).toEqual([])
  })

  test('moves at the same pace however often it is read', async () => {
    world.system.setAhead(-hour)
    const before = await now(world)
    for (let count = 0; count < 50; count++) {
      world.system.pass(0.5)
      await now(world)
    }
    expect((await now(world)) - before).toBe(25)
  })
})

describe('the clock of a machine with a database of its own', () => {
  beforeEach(() => openWorld(sqlite))

  test('3 days ahead and back makes no second card', async () => {
    const first = await pay(world, 'once')
    const before = await now(world)
    world.system.setAhead(3 * day)
    expectReplay(await pay(world, 'once'), first)
    await world.service.upkeep.once()
    expect(await now(world)).toBe(before)
    world.system.setAhead(0)
    expectReplay(await pay(world, 'once'), first)
    expect((await world.get('/agent-cards')).json.data).toHaveLength(1)
    expect(warnings(world)).toHaveLength(1)
  })

  test('3 days ahead at the start of one process, and right at the start of the next, makes no second card', async () => {
    const first = await pay(world, 'once')
    const ahead = await startProcess(fakeSystem({ now: world.system.now() + 3 * day }))
    await ahead.issueCard()
    await ahead.get('/agent-cards')
    await ahead.service.upkeep.once()
    await ahead.drop()
    const right = await startProcess(fakeSystem({ now: world.system.now() + hour }))
    expect(await now(right)).toBe(world.system.now() + 3 * day)
    await right.service.upkeep.once()
    expect(warnings(right)).toHaveLength(1)
    expectReplay(await pay(right, 'once'), first)
    expectReplay(await pay(world, 'once'), first)
  })

  test('is followed again after it is corrected while the machine sleeps', async () => {
    world.system.setAhead(30 * second)
    const before = await now(world)
    world.system.suspend(day)
    world.system.setAhead(0)
    expect(await now(world)).toBe(before + day - 30 * second)
  })
})

async function exchangeToken(of: World): Promise<{ key: string }> {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: of.agentKey,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  })
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const response = await of.service.fetch(
    new Request('http://sandbox.test/oauth/token', { method: 'POST', headers, body: body.toString() }),
  )
  return { key: ((await response.json()) as { access_token: string }).access_token }
}
