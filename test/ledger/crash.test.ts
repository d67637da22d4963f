import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { agentSecret, Journal, perform } from './journal.ts'

const cli = await runResource('cli')
const workers = 16
/** The number of acknowledged requests after which each round kills the process. */
const rounds = isDeep ? [60, 150, 240] : [60, 100]

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
  throw new Error('The server ended before it listened.')
}

async function kill({ process: child }: Server): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Makes purchases and refunds until the server is gone. */
async function work(journal: Journal): Promise<void> {
  try {
    for (;;) await journal.buy()
  } catch (error) {
    // After the kill, fetch throws a TypeError. Any other error is a bug.
    if (!(error instanceof TypeError)) throw error
  }
}

onEachDatabase('a service that is killed while it works', (database) => {
  test('keeps acknowledged requests, and carries out each request completely and once', async () => {
    const { url, drop } = await database.createEmpty()
    let unacknowledged = 0
    try {
      for (const [round, killAfter] of rounds.entries()) {
        const server = await serve(url)
        const exited = once(server.process, 'exit')
        const journal = new Journal(`round ${round}`, async (intent) => {
          const response = await perform(server.url, intent)
          const text = await response.text()
          if (response.status !== 200) throw new Error(`${intent.path} answered ${response.status}: ${text}`)
          if (journal.acknowledged >= killAfter - 1) server.process.kill('SIGKILL')
          return text
        })
        await Promise.all(Array.from({ length: workers }, () => work(journal)))
        expect((await exited)[1]).toBe('SIGKILL')
        expect(journal.acknowledged).toBeGreaterThanOrEqual(killAfter)
        unacknowledged += journal.intents.length - journal.acknowledged

        const restarted = await serve(url)
        try {
          await journal.repeatAll(restarted.url)
        } finally {
          await kill(restarted)
        }
        await journal.expectOneEffectEach(url)
      }
    } finally {
      await drop()
    }
    expect(unacknowledged).toBeGreaterThan(0)
  })
})
