import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { proveBooks } from '../ledger/books.ts'
import { modernRequest } from '../mcp-http/hosting.ts'

const secret = 'killed-processes-secret-0123456789'
const workers = 32
/**
 * The amounts of every captured purchase and of its refund, in cents. After the refund, the purchase has cost the
 * wallet one cent.
 */
const purchase = { cents: 2, refundCents: 1 }

interface Counts {
  /** The number of answered calls, including repeats. */
  calls: number
  /** The number of answered calls that were sent a second time. */
  repeats: number
  /** The number of times that a call was sent again after a broken connection or a temporary refusal. */
  retries: number
  kills: number
  seconds: number
}

/**
 * Sends calls over REST and MCP to three `serve` processes behind one address, and sends many of the calls twice.
 * Meanwhile, kills and restarts the processes in turn.
 * @throws if a call was lost or took effect twice
 */
export async function callWhileKilling({
  cli,
  databaseUrl,
  calls,
  killEveryMs,
}: {
  cli: string
  databaseUrl: string
  calls: number
  killEveryMs: number
}): Promise<Counts> {
  const beganAtMs = performance.now()
  const counts: Counts = { calls: 0, repeats: 0, retries: 0, kills: 0, seconds: 0 }
  const processes: (Served | undefined)[] = []
  // Starts the processes one after another, because the first process creates the database schema.
  for (let count = 0; count < 3; count++) processes.push(await serve(cli, databaseUrl))
  const proxy = await startProxy(processes)
  const load = new Load(proxy.url, counts, calls)
  const ended = new AbortController()
  const killing = killInTurn({ cli, databaseUrl, processes, counts, killEveryMs, signal: ended.signal })
  try {
    await Promise.all(Array.from({ length: workers }, (_, worker) => load.work(worker)))
    ended.abort()
    await killing
    await proveEffects(databaseUrl, load)
  } finally {
    ended.abort()
    await killing.catch(() => {})
    proxy.close()
    await Promise.all(processes.map((each) => each?.kill()))
  }
  return { ...counts, seconds: (performance.now() - beganAtMs) / 1000 }
}

interface Served {
  url: string
  kill(): Promise<void>
}

async function serve(cli: string, databaseUrl: string): Promise<Served> {
  const env = {
    PATH: process.env.PATH ?? '',
    PAYMENTS_PORT: '0',
    PAYMENTS_DATABASE_URL: databaseUrl,
    PAYMENTS_SANDBOX_AGENT_KEY: secret,
    PAYMENTS_RATE_LIMIT: '1000000000',
    PAYMENTS_LOG_LEVEL: 'fatal',
  }
  const child: ChildProcess = spawn(process.execPath, [cli, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  if (child.stdout === null) throw new Error('Bug: stdout is not a pipe.')
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /listening on (http:\/\/\S+)/.exec(line)?.[1]
    if (url !== undefined) return { url, kill }
  }
  throw new Error('serve ended before it was listening.')
}

/**
 * Starts a proxy that forwards requests to the running processes in turn. If a process dies during a request, the proxy
 * closes the client's connection.
 */
async function startProxy(processes: readonly (Served | undefined)[]) {
  const agent = new Agent({ keepAlive: true })
  let requestCount = 0
  const server = createServer((request, response) => {
    const running = processes.filter((each) => each !== undefined)
    const target = running[requestCount++ % running.length]
    if (target === undefined) return response.destroy()
    const { hostname, port } = new URL(target.url)
    const { method, url: path, headers } = request
    const passed = forward({ agent, hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.on('error', () => response.destroy())
      answer.on('aborted', () => response.destroy())
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

interface Killing {
  cli: string
  databaseUrl: string
  processes: (Served | undefined)[]
  counts: Counts
  killEveryMs: number
  signal: AbortSignal
}

async function killInTurn({ cli, databaseUrl, processes, counts, killEveryMs, signal }: Killing): Promise<void> {
  for (let index = 0; !signal.aborted; index = (index + 1) % processes.length) {
    // The first kill comes early, so that even a short test on a fast machine includes a kill.
    await sleep(counts.kills === 0 ? killEveryMs / 10 : killEveryMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const victim = processes[index]
    await victim?.kill()
    processes[index] = undefined
    counts.kills += 1
    processes[index] = await serve(cli, databaseUrl)
  }
}

type Tool = 'issue_agent_card' | 'simulate_card_authorization'

class Load {
  /** The merchants of the purchases. Each purchase has a different merchant. */
  readonly merchants: string[] = []
  captureCount = 0
  readonly #url: string
  readonly #counts: Counts
  readonly #maxCalls: number

  constructor(url: string, counts: Counts, maxCalls: number) {
    this.#url = url
    this.#counts = counts
    this.#maxCalls = maxCalls
  }

  /**
   * Makes purchases until enough calls are answered. Reverses every second purchase, and captures and refunds the
   * others. For every third purchase, issues the card and authorizes the purchase over MCP.
   */
  async work(worker: number): Promise<void> {
    for (let count = 0; this.#counts.calls < this.#maxCalls; count++) {
      const name = `worker ${worker} purchase ${count}`
      const byMcp = count % 3 === 0
      const merchant = { name }
      const card = await this.#do(`${name} card`, {
        path: '/agent-cards',
        attributes: { merchant, maximumAmount: 900, currency: 'USD' },
        tool: byMcp ? 'issue_agent_card' : undefined,
      })
      const bought = await this.#do(`${name} authorization`, {
        path: `/simulations/agent-cards/${card}/authorize`,
        attributes: { amount: purchase.cents, currency: 'USD', merchant },
        tool: byMcp ? 'simulate_card_authorization' : undefined,
        arguments: { cardId: card },
      })
      this.merchants.push(name)
      const path = `/simulations/card-transactions/${bought}`
      if (count % 2 === 0) {
        await this.#do(`${name} reversal`, { path: `${path}/reverse`, attributes: {} })
        continue
      }
      await this.#do(`${name} capture`, {
        path: `${path}/capture`,
        attributes: { amount: purchase.cents, currency: 'USD' },
      })
      await this.#do(`${name} refund`, {
        path: `${path}/refund`,
        attributes: { amount: purchase.refundCents, currency: 'USD' },
      })
      this.captureCount += 1
    }
  }

  /**
   * Sends a call until it is answered. Returns the id in the answer. Repeats one call in four and compares the answers.
   */
  async #do(key: string, call: Call): Promise<string> {
    const first = await this.#sendUntilAnswered(key, call)
    if (this.#counts.calls % 4 === 0) {
      this.#counts.repeats += 1
      const again = await this.#sendUntilAnswered(key, call)
      if (again !== first) throw new Error(`The answer to ${key} was first ${first} and then ${again}.`)
    }
    return (JSON.parse(first) as { id: string }).id
  }

  async #sendUntilAnswered(key: string, call: Call): Promise<string> {
    for (let attempt = 0; attempt < 400; attempt++) {
      const answer = await this.#send(key, call).catch((error: unknown) => {
        // The connection broke, so the result is unknown.
        if (error instanceof TypeError) return undefined
        throw error
      })
      if (answer !== undefined) {
        this.#counts.calls += 1
        return answer
      }
      this.#counts.retries += 1
      await sleep(25 + 25 * (attempt % 8))
    }
    throw new Error(`${key} was never answered.`)
  }

  /** Sends a call once. Returns the resource in the answer as JSON; `undefined` if the call must be sent again. */
  async #send(key: string, { path, attributes, tool, arguments: more }: Call): Promise<string | undefined> {
    const headers: Record<string, string> = {
      Authorization: `Bearer ak_ntl_sandbox_${secret}`,
      'Content-Type': 'application/json',
      'X-Instance-ID': 'killed processes',
    }
    if (tool !== undefined) return this.#sendByMcp(tool, { ...attributes, ...more, idempotencyKey: key }, headers)
    const response = await fetch(`${this.#url}${path}`, {
      method: 'POST',
      headers: { ...headers, 'Idempotency-Key': key },
      body: JSON.stringify({ data: { attributes } }),
    })
    const text = await response.text()
    if (response.status === 200) return JSON.stringify((JSON.parse(text) as { data: unknown }).data)
    if (response.status === 503 || response.status === 409) return undefined
    throw new Error(`The answer to ${key} was ${response.status} ${text}`)
  }

  async #sendByMcp(tool: Tool, args: object, headers: Record<string, string>): Promise<string | undefined> {
    const request = modernRequest('tools/call', { name: tool, arguments: args })
    const response = await fetch(`${this.#url}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...request.headers, Accept: 'application/json, text/event-stream' },
      body: JSON.stringify(request.body),
    })
    const text = await response.text()
    if (response.status >= 500) return undefined
    const { result } = JSON.parse(text) as { result?: { isError?: boolean; structuredContent?: { data: unknown } } }
    if (result?.structuredContent?.data !== undefined && !result.isError)
      return JSON.stringify(result.structuredContent.data)
    if (/retryable|conflict|unavailable|reached/.test(text)) return undefined
    throw new Error(`The answer to ${tool} was ${response.status} ${text}`)
  }
}

interface Call {
  path: string
  attributes: object
  /** The MCP tool to call. If it is undefined, the call is a REST request. */
  tool?: Tool | undefined
  /** Arguments of the tool in addition to the attributes. */
  arguments?: object
}

/**
 * Proves that each call took effect exactly once: every merchant has one card and one purchase, no capture, reversal or
 * refund is missing or extra, and the wallet has the correct balance.
 */
async function proveEffects(databaseUrl: string, { merchants, captureCount }: Load): Promise<void> {
  const store = await openStore({ url: databaseUrl, system: realSystem })
  try {
    const { transactions, wallets } = await proveBooks(store)
    const cards = await store.read(({ db }) => db.selectFrom('agentCards').select('merchantName').execute())
    expect(cards.map(({ merchantName }) => merchantName).sort()).toEqual(merchants.toSorted())
    const transactionsOfKind = (kind: string) => transactions.filter((transaction) => transaction.kind === kind)
    expect(
      transactionsOfKind('purchase')
        .map(({ merchantName }) => merchantName)
        .sort(),
    ).toEqual(merchants.toSorted())
    expect(transactionsOfKind('purchase').filter(({ status }) => status === 'captured').length).toBe(captureCount)
    expect(transactionsOfKind('purchase').filter(({ status }) => status === 'reversed').length).toBe(
      merchants.length - captureCount,
    )
    expect(transactionsOfKind('refund').length).toBe(captureCount)
    const balanceCents = 250_000 - captureCount * (purchase.cents - purchase.refundCents)
    expect(wallets.map(({ availableCents }) => availableCents)).toContain(balanceCents)
  } finally {
    await store.close()
  }
}
