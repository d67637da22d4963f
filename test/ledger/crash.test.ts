import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { checkActivity } from '../../src/commands/check-activity.ts'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { agentSecret, Journal, perform, readEffects } from './journal.ts'

const cli = await runResource('cli')
const workers = 16

/**
 * The number of calls on each database. `npm run crash-calls` makes 10,000 calls, and kills the service 20 times.
 * CRASH_CALLS and CRASH_KILLS change these numbers. In addition, each call is repeated once; repeats are not counted.
 */
const calls = Number(process.env.CRASH_CALLS ?? (isDeep ? 450 : 160))
const kills = Number(process.env.CRASH_KILLS ?? (isDeep ? 3 : 2))
/**
 * In each round, every refund is one cent larger than the one before. With more calls in a round, the last refunds
 * would be larger than their purchases of 900 cents.
 */
const maxCallsPerRound = 3_000
const callsPerRound = Math.ceil(calls / kills)
if (!(callsPerRound >= 1 && callsPerRound <= maxCallsPerRound))
  throw new Error(`CRASH_CALLS / CRASH_KILLS is ${calls / kills}; it must be 1 to ${maxCallsPerRound}.`)
/** The time limit in milliseconds. With 100,000 calls, the test takes hours on a busy machine. */
const timeout = kills > 10 ? 14_400_000 : 300_000

interface Server {
  url: string
  process: ChildProcess
}

async function serve(databaseUrl: string): Promise<Server> {
  const env = {
    ...process.env,
    PAYMENTS_PORT: '0',
    PAYMENTS_DATABASE_URL: databaseUrl,
    PAYMENTS_SANDBOX_AGENT_KEY: agentSecret,
    PAYMENTS_RATE_LIMIT: '1000000',
    PAYMENTS_LOG_LEVEL: 'error',
  }
  const child = spawn(process.execPath, [cli, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /listening on (http:\/\/\S+)/.exec(line)?.[1]
    if (url !== undefined) return { url, process: child }
  }
  throw new Error('The server exited before it was listening.')
}

async function kill({ process: child }: Server): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Makes purchases and refunds until the server is killed. */
async function work(journal: Journal): Promise<void> {
  try {
    for (;;) await journal.buy()
  } catch (error) {
    // After the kill, fetch throws a TypeError. Any other error is a bug.
    if (!(error instanceof TypeError)) throw error
  }
}

/** Makes the largest deposit that one call can make, which is enough for all purchases. */
async function fund(url: string): Promise<void> {
  const response = await fetch(`${url}/whoami`, { headers: { Authorization: `Bearer ak_ntl_sandbox_${agentSecret}` } })
  const { data } = (await response.json()) as { data: { attributes: { partyId: string } } }
  const path = `/simulations/customers/${data.attributes.partyId}/transfers/deposit`
  const { status } = await perform(url, { key: 'deposit for all purchases', path, attributes: { amount: 99_999_999 } })
  expect(status).toBe(200)
}

/** Checks that every activity chain is intact, and that the sequence numbers of each party's events have no gap. */
async function expectCompleteRecords(databaseUrl: string): Promise<void> {
  const findings = await checkActivity(databaseUrl, undefined)
  expect(findings.map(({ is, says }) => [is, says])).toEqual([['ok', expect.any(String)]])
  const store = await openStore({ url: databaseUrl, system: realSystem })
  try {
    const parties = await store.read(({ db }) =>
      db
        .selectFrom('events')
        .select(({ fn }) => ['partyId', fn.countAll().as('count'), fn.max('sequence').as('newest')])
        .groupBy('partyId')
        .execute(),
    )
    expect(parties.length).toBeGreaterThan(0)
    for (const { partyId, count, newest } of parties) expect(Number(newest), partyId).toBe(Number(count))
  } finally {
    await store.close()
  }
}

onEachDatabase('kills during requests', (database) => {
  test('a killed service loses no acknowledged request, and carries out each request completely and only once', {
    timeout,
  }, async () => {
    const beganAtMs = performance.now()
    const { url, drop } = await database.createEmpty()
    const journals: Journal[] = []
    try {
      for (let round = 0; round < kills; round++) {
        const server = await serve(url)
        const exited = once(server.process, 'exit')
        if (round === 0) await fund(server.url)
        await journals.at(-1)?.repeatAll(server.url)
        const journal = new Journal(`round ${round}`, async (intent) => {
          const response = await perform(server.url, intent)
          const text = await response.text()
          if (response.status !== 200) throw new Error(`${intent.path} answered ${response.status}: ${text}`)
          if (journal.acknowledged >= callsPerRound - 1) server.process.kill('SIGKILL')
          return text
        })
        journals.push(journal)
        await Promise.all(Array.from({ length: workers }, () => work(journal)))
        expect((await exited)[1]).toBe('SIGKILL')
        expect(journal.acknowledged).toBeGreaterThanOrEqual(callsPerRound)
      }
      const restarted = await serve(url)
      try {
        await journals.at(-1)?.repeatAll(restarted.url)
      } finally {
        await kill(restarted)
      }
      const effects = await readEffects(url)
      for (const journal of journals) journal.expectOneOfEach(effects)
      await expectCompleteRecords(url)
    } finally {
      await drop()
    }
    const total = (count: (journal: Journal) => number) => journals.reduce((sum, journal) => sum + count(journal), 0)
    const acknowledged = total((journal) => journal.acknowledged)
    const unacknowledged = total(({ intents }) => intents.length) - acknowledged
    const seconds = Math.round((performance.now() - beganAtMs) / 1000)
    console.info(
      `${database.name}: ${acknowledged} calls were answered and ${unacknowledged} were not, with ${kills} kills in ${seconds} s; nothing was lost or done twice`,
    )
    expect(unacknowledged).toBeGreaterThan(0)
  })
})
