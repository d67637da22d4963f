import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, inject, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { proveBooks } from './books.ts'

const cli = inject('cli')
const secret = 'crash-test-agent-secret-0123456789'
const workers = 16
/** Acknowledgements after which a round's process is killed. */
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
    PAYMENTS_SANDBOX_AGENT_KEY: secret,
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

/** A request as a client's journal has it: noted before it is sent, with its answer once that is whole. */
interface Intent {
  key: string
  path: string
  attributes: Record<string, unknown>
  acknowledged?: string
}

async function perform(url: string, intent: Intent): Promise<Response> {
  return fetch(`${url}${intent.path}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ak_ntl_sandbox_${secret}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': intent.key,
      'X-Instance-ID': 'crash test',
    },
    body: JSON.stringify({ data: { attributes: intent.attributes } }),
  })
}

class Load {
  readonly journal: Intent[] = []
  acknowledged = 0
  /** Different for each refund, so that its effects can be counted. */
  refunds = 0
  readonly #server: Server
  readonly #round: number
  readonly #killAfter: number

  constructor(server: Server, round: number, killAfter: number) {
    this.#server = server
    this.#round = round
    this.#killAfter = killAfter
  }

  /** Buys and returns things until the server is gone. */
  async work(): Promise<void> {
    try {
      for (;;) {
        const { id: cardId } = await this.#do('/agent-cards', (key) => ({
          merchant: { name: key },
          maximumAmount: 900,
          currency: 'USD',
        }))
        const { id } = await this.#do(`/simulations/agent-cards/${cardId}/authorize`, (key) => ({
          amount: 900,
          currency: 'USD',
          merchant: { name: key },
        }))
        const path = `/simulations/card-transactions/${id}`
        if (this.journal.length % 3 === 0) await this.#do(`${path}/reverse`, () => ({}))
        else {
          await this.#do(`${path}/capture`, () => ({ amount: 900, currency: 'USD' }))
          this.refunds += 1
          const amount = this.refunds
          await this.#do(`${path}/refund`, () => ({ amount, currency: 'USD' }))
        }
      }
    } catch (error) {
      // The kill is what ends the work: fetch tells it as a TypeError, whatever else is thrown is a finding.
      if (!(error instanceof TypeError)) throw error
    }
  }

  async #do(path: string, attributes: (key: string) => Record<string, unknown>): Promise<{ id: string }> {
    const key = `round ${this.#round} request ${this.journal.length}`
    const intent: Intent = { key, path, attributes: attributes(key) }
    this.journal.push(intent)
    const response = await perform(this.#server.url, intent)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
    intent.acknowledged = text
    this.acknowledged += 1
    if (this.acknowledged === this.#killAfter) this.#server.process.kill('SIGKILL')
    return JSON.parse(text).data
  }
}

onEachDatabase('a service that is killed in the middle of its work', (database) => {
  test('keeps what it acknowledged, does nothing by halves, and each request once', async () => {
    const { url, drop } = await database.createEmpty()
    let unacknowledged = 0
    try {
      for (const [round, killAfter] of rounds.entries()) {
        const server = await serve(url)
        const exited = once(server.process, 'exit')
        const load = new Load(server, round, killAfter)
        await Promise.all(Array.from({ length: workers }, () => load.work()))
        expect((await exited)[1]).toBe('SIGKILL')
        expect(load.acknowledged).toBeGreaterThanOrEqual(killAfter)

        const restarted = await serve(url)
        try {
          const answers = await repeatAll(restarted.url, load.journal)
          unacknowledged += answers.filter(({ intent }) => intent.acknowledged === undefined).length
          for (const { intent, status, replayed, text } of answers) {
            expect(status, `${intent.path}: ${text}`).toBe(200)
            if (intent.acknowledged === undefined) continue
            expect(text).toBe(intent.acknowledged)
            expect(replayed).toBe(true)
          }
        } finally {
          await kill(restarted)
        }
        await expectOneEffectEach(url, round, load)
      }
    } finally {
      await drop()
    }
    expect(unacknowledged).toBeGreaterThan(0)
  })
})

async function repeatAll(url: string, journal: readonly Intent[]) {
  return Promise.all(
    journal.map(async (intent) => {
      const response = await perform(url, intent)
      const replayed = response.headers.get('x-idempotency-replayed') === 'true'
      return { intent, status: response.status, replayed, text: await response.text() }
    }),
  )
}

async function expectOneEffectEach(url: string, round: number, { journal, refunds }: Load): Promise<void> {
  const store = await openStore({ url, system: realSystem })
  try {
    const { transactions } = await proveBooks(store)
    const cards = await store.transaction(({ db }) => db.selectFrom('agentCards').selectAll().execute())
    const ofRound = (name: string) => name.startsWith(`round ${round} `)
    const issued = cards.map(({ merchantName }) => merchantName).filter(ofRound)
    const purchases = transactions.filter(({ kind, merchantName }) => kind === 'purchase' && ofRound(merchantName))
    const keys = (pattern: RegExp) => journal.filter(({ path }) => pattern.test(path)).map(({ key }) => key)
    expect(issued.sort()).toEqual(keys(/^\/agent-cards$/).sort())
    expect(purchases.map(({ merchantName }) => merchantName).sort()).toEqual(keys(/authorize$/).sort())
    const ids = new Set(purchases.map(({ id }) => id))
    const refunded = transactions
      .filter(({ purchaseId }) => ids.has(purchaseId ?? ''))
      .map(({ amountCents }) => amountCents)
    expect(refunded.sort((a, b) => a - b)).toEqual(Array.from({ length: refunds }, (_, index) => index + 1))
    for (const { path, attributes } of journal) {
      const [, id, action] = /card-transactions\/(\w+)\/(\w+)$/.exec(path) ?? []
      if (id === undefined) continue
      const record = transactions.find((transaction) => transaction.id === id)
      expect(record?.status).toBe(action === 'reverse' ? 'reversed' : 'captured')
      if (action === 'refund') expect(record?.refundedCents).toBe(attributes.amount)
    }
  } finally {
    await store.close()
  }
}
