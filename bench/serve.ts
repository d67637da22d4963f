import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent } from 'undici'
import { freePort } from './postgres-server.ts'
import { cardAttributes, manyPerMinute, rateWithin } from './sandbox.ts'
import { compare, type Row } from './table.ts'

/** What people would rehearse against instead: npm's package of sandboxes in memory, here that of Stripe. */
const rival = 'emulate@0.12.2'
const rounds = 5
const roundMs = 1_500
const mostInFlight = 64
const startRounds = 9

interface Program {
  parameters: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Makes one thing. */
  create: { path: string; headers: (count: number) => Record<string, string>; body: string }
}

/** The bundle's `serve` against the rival: things made over HTTP, ours durable and theirs in memory, and the start. */
export async function measureServe(directory: string): Promise<Row[]> {
  const [ours, theirs] = [oursIn(directory), installRival(directory)]
  return [...(await measureCreates(ours, theirs)), ...(await measureStarts(ours, theirs))]
}

const secret = `bench-${'x'.repeat(24)}`

function oursIn(directory: string): Program & { forget(): void } {
  const file = join(directory, 'serve.sqlite')
  const settings = { PAYMENTS_LOG_LEVEL: 'error', PAYMENTS_RATE_LIMIT: String(manyPerMinute) }
  const key = { authorization: `Bearer ak_ntl_sandbox_${secret}`, 'x-instance-id': 'bench' }
  return {
    parameters: [fileURLToPath(new URL('../bundle/server/cli.js', import.meta.url)), 'serve', '--port'],
    env: { ...settings, PAYMENTS_DATABASE_URL: `sqlite:${file}`, PAYMENTS_SANDBOX_AGENT_KEY: secret },
    create: {
      path: '/agent-cards',
      headers: (count) => ({
        ...key,
        'content-type': 'application/json',
        'idempotency-key': `bench ${process.pid} ${count}`,
      }),
      body: JSON.stringify({ data: { attributes: cardAttributes } }),
    },
    forget: () => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
    },
  }
}

/** Installs it into a folder that goes when the bench ends: nothing else needs it. */
function installRival(directory: string): Program {
  const folder = join(directory, 'rival')
  execFileSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', rival], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return {
    parameters: [join(folder, 'node_modules/emulate/dist/index.js'), 'start', '--service', 'stripe', '--port'],
    create: {
      path: '/v1/customers',
      // A key is refused after 5,000 calls in an hour.
      headers: (count) => ({
        authorization: `Bearer sk_test_${Math.floor(count / 4_000)}`,
        'content-type': 'application/x-www-form-urlencoded',
      }),
      body: 'name=Books&email=books%40example.com',
    },
  }
}

async function measureCreates(ours: Program, theirs: Program): Promise<Row[]> {
  const servers = [await start(ours), await start(theirs)]
  const [mine, its]: [number[], number[]] = [[], []]
  try {
    // The first round counts as well: nobody warms a sandbox up.
    for (let round = 0; round < rounds; round++) {
      for (const [index, server] of servers.entries()) {
        const calls = Array.from({ length: 100_000 })
        const rate = await rateWithin(roundMs, mostInFlight, calls, server.create)
        ;(index === 0 ? mine : its).push(rate)
      }
    }
  } finally {
    for (const server of servers) await server.end()
  }
  const row = (when: string, some: (samples: number[]) => number[]) => {
    const measurement = `creates by REST over HTTP, ${when}, 64 in flight: durable, against ${rival} in memory`
    return compare({ measurement, unit: '/s', ours: some(mine), other: some(its), goal: { atLeast: 1 } })
  }
  return [row('first seconds', (all) => all.slice(0, 1)), row('warm', (all) => all.slice(1))]
}

async function measureStarts(ours: Program & { forget(): void }, theirs: Program): Promise<Row[]> {
  const samples = { made: [] as number[], existing: [] as number[], rival: [] as number[] }
  for (let round = -1; round < startRounds; round++) {
    ours.forget()
    const made = await timeStart(ours)
    const existing = await timeStart(ours)
    const other = await timeStart(theirs)
    if (round < 0) continue
    samples.made.push(made)
    samples.existing.push(existing)
    samples.rival.push(other)
  }
  const row = (against: string, other: number[], atMost: number) => {
    const measurement = `start of serve on a new database to its first answer, against ${against}`
    return compare({ measurement, unit: 'ms', ours: samples.made, other, goal: { atMost } })
  }
  return [row('an existing one', samples.existing, 1.3), row(rival, samples.rival, 1.5)]
}

async function timeStart(program: Program): Promise<number> {
  const startedAt = performance.now()
  const server = await start(program)
  const tookMs = performance.now() - startedAt
  await server.end()
  return tookMs
}

/** Resolves when it gives its first answer, whatever that says. */
async function start({ parameters, env = {}, create: { path, headers, body } }: Program) {
  const port = await freePort()
  const child = spawn(process.execPath, [...parameters, String(port)], {
    env: { ...plainEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const origin = `http://127.0.0.1:${port}`
  const agent = new Agent({ connections: mostInFlight, pipelining: 1 })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await firstAnswer(agent, origin, child)
  let count = 0
  return {
    create: async () => {
      const answer = await agent.request({ origin, path, method: 'POST', headers: headers(++count), body })
      const text = await answer.body.text()
      if (answer.statusCode !== 200) throw new Error(text)
    },
    end: async () => {
      await agent.destroy()
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function firstAnswer(agent: Agent, origin: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    try {
      const { body } = await agent.request({ origin, path: '/healthz', method: 'GET' })
      return await body.dump()
    } catch {
      // Nobody listens yet.
      await sleep(2)
    }
  }
  throw new Error(`A server ended with ${child.exitCode}.`)
}

/** Without what would change how Node itself starts, or the server. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(NODE_|PAYMENTS_)/.test(name)))
}
