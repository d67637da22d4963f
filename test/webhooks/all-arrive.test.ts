import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createSender } from '../../src/service/request/deliver/sender.ts'
import { pauseSeconds } from '../../src/service/rules/webhooks.ts'
import { serveOn } from '../resilience/processes.ts'
import { postgres, sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { webhookHelpers } from './hooks.ts'
import { openReceiver, type Receiver } from './receiver.ts'

/** Returns a generator of pseudo-random numbers that are the same in each run. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Creates wallets as many concurrent clients would. For each wallet, the service records one event. */
async function createWalletsConcurrently(world: World, count: number): Promise<void> {
  let left = count
  const work = async () => {
    while (left > 0) {
      left -= 1
      const answer = await world.post('/wallets', { displayName: `Number ${left}` }, { key: world.apiKey })
      // A request during a jump of the clock may get 503. It then had no effect, so another request replaces it.
      if (answer.status === 503) left += 1
      else if (answer.status >= 300) throw new Error(answer.text)
    }
  }
  await Promise.all(Array.from({ length: 32 }, work))
}

/** Returns the ids of the `wallet.created` events that were recorded after the given time. */
async function idsOfEvents(world: World, from: Date): Promise<Set<string>> {
  const ids = new Set<string>()
  let cursor = ''
  do {
    const query = `eventType=wallet.created&createdAfter=${from.toISOString()}&limit=100${cursor}`
    const { json } = await world.get(`/events?${query}`, { key: world.apiKey })
    for (const { id } of json.data) ids.add(id)
    cursor = json.meta.pagination.nextCursor === null ? '' : `&cursor=${json.meta.pagination.nextCursor}`
  } while (cursor !== '')
  return ids
}

/** The number of one-minute rounds after which the service has completed or given up every delivery. */
const roundsOfAllAttempts = Math.ceil(pauseSeconds.reduce((sum, pause) => sum + pause / 60, 0)) + pauseSeconds.length
/**
 * The number of rounds between two kills of the receiver. No pause between delivery attempts may be a multiple of this
 * number. With 20 rounds, the receiver was down at every retry of some events.
 */
const roundsBetweenKills = 19

/** The time limit of a test: long enough for a busy machine, short enough to detect a hang. */
const testTimeoutMs = 1_200_000

test.each([
  { database: sqlite, many: 10_000 },
  // PostgreSQL is slower. With fewer events, its test takes about as long as the SQLite test.
  { database: postgres, many: 1_000 },
] as const)(
  'each of $many events reaches a receiver that hangs, returns errors and restarts, on $database.name',
  async ({ database, many }) => {
    const world = await createWorld(database, { send: createSender({ timeoutMs: 250 }) })
    let receiver = await openReceiver()
    const { port } = new URL(receiver.url)
    const arrived = new Set<string>()
    const chance = createRandom(16)
    let [tries, hung, failed] = [0, 0, 0]
    const makeUnreliable = (target: Receiver) =>
      target.answer(({ json }) => {
        tries += 1
        const luck = chance()
        if (luck < 0.001) hung += 1
        else if (luck < 0.1) failed += 1
        if (luck < 0.001) return 'never'
        if (luck < 0.1) return 500
        arrived.add(json.id)
        return 200
      })
    makeUnreliable(receiver)
    try {
      const hooks = webhookHelpers(world, receiver)
      const from = new Date(world.system.now() - 1)
      world.system.pass(1)
      const hook = await hooks.create({ enabledEvents: ['wallet.created'] })
      let roundsSinceLastEvent = Number.NaN
      const made = createWalletsConcurrently(world, many).then(() => {
        roundsSinceLastEvent = 0
      })
      let kills = 0
      for (let round = 0; arrived.size < many; round++) {
        if (Number.isFinite(roundsSinceLastEvent)) world.system.pass(55_000)
        roundsSinceLastEvent += 1
        if (roundsSinceLastEvent > roundsOfAllAttempts) {
          expect(await hooks.deliveries(hook, '?status=failed')).toEqual([])
          expect(await hooks.deliveries(hook, '?status=pending')).toEqual([])
          expect(arrived.size).toBe(many)
        }
        const delivering = hooks.deliver()
        if (round % roundsBetweenKills === 0) {
          // Kills the receiver and starts a new one at the same address.
          kills += 1
          await receiver.close()
          await sleep(1)
          receiver = await openReceiver(Number(port))
          makeUnreliable(receiver)
        }
        await delivering
        world.system.pass(5_000)
      }
      await made
      const ids = await idsOfEvents(world, from)
      expect(ids.size).toBeGreaterThanOrEqual(many)
      expect([...arrived].every((id) => ids.has(id))).toBe(true)
      expect(await hooks.deliveries(hook, '?status=failed')).toEqual([])
      console.info(
        `${many} events on ${database.name}: ${tries} attempts, ${failed} answered 500, ${hung} hung, ${kills} kills, ${roundsSinceLastEvent} rounds after the last event`,
      )
    } finally {
      await receiver.close()
      await world.drop()
    }
  },
  testTimeoutMs,
)

const apiSecret = 'kill-api-secret-0123456789abcdef'
const key = `sk_ntl_sandbox_${apiSecret}`

/** Creates wallets until the service is killed. Adds the ids of acknowledged wallets to `acknowledged`. */
async function createWalletsUntilKilled(url: string, acknowledged: Set<string>): Promise<void> {
  for (let count = 0; ; count++) {
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': `${acknowledged.size} ${count} ${Math.random()}`,
    }
    const body = JSON.stringify({ data: { attributes: { displayName: 'Any' } } })
    try {
      const response = await fetch(`${url}/wallets`, { method: 'POST', headers, body })
      if (response.status < 300) acknowledged.add(((await response.json()) as { data: { id: string } }).data.id)
    } catch (error) {
      if (error instanceof TypeError) return
      throw error
    }
  }
}

test.each([
  { database: sqlite, kills: 100 },
  { database: postgres, kills: 20 },
] as const)(
  'no event is lost if the service is killed $kills times, on $database.name',
  async ({ database, kills }) => {
    const { url, drop } = await database.createEmpty()
    const receiver = await openReceiver()
    const arrived = new Set<string>()
    const chance = createRandom(kills)
    const refused = new Set<string>()
    // Refuses each message at most once, because a second refusal would delay the message by five minutes.
    receiver.answer(({ json }) => {
      if (!refused.has(json.id) && chance() < 0.05) {
        refused.add(json.id)
        return 503
      }
      arrived.add(json.resourceId)
      return 200
    })
    const acknowledged = new Set<string>()
    const start = () => serveOn(url, { PAYMENTS_SANDBOX_API_KEY: apiSecret })
    try {
      let served = await start()
      const attributes = { url: receiver.url, enabledEvents: ['wallet.created'] }
      const headers = {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': 'the webhook',
      }
      const body = JSON.stringify({ data: { attributes } })
      expect((await fetch(`${served.url}/webhooks`, { method: 'POST', headers, body })).status).toBe(201)
      for (let kill = 0; kill < kills; kill++) {
        const exited = new Promise((resolve) => served.process.once('exit', resolve))
        const working = Promise.all([1, 2].map(() => createWalletsUntilKilled(served.url, acknowledged)))
        // Kills the process after a wallet was created. Every fourth time, first waits until the process has also
        // delivered an event.
        const [receivedCount, made] = [receiver.received.length, acknowledged.size]
        const isBusy = () => acknowledged.size > made && (kill % 4 !== 3 || receiver.received.length > receivedCount)
        for (let waited = 0; waited < 1_000 && !isBusy(); waited++) await sleep(10)
        served.process.kill('SIGKILL')
        await Promise.all([working, exited])
        served = await start()
      }
      const missing = () => [...acknowledged].filter((id) => !arrived.has(id)).length
      await expect.poll(missing, { timeout: 120_000 }).toBe(0)
      await served.stop()
      console.info(
        `${kills} kills on ${database.name}: ${acknowledged.size} events, ${receiver.received.length} messages`,
      )
    } finally {
      await receiver.close()
      await drop()
    }
  },
  testTimeoutMs,
)
