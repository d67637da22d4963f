import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { freePort } from '../test/support/free-port.ts'
import { endProcess, ourBundle, startNode } from './processes.ts'
import { agentKey, cardAttributes, rateWithin, serverSettings } from './sandbox.ts'
import { compare, inTurns, type Row } from './table.ts'

/** The npm package to compare with. It simulates many APIs in memory, for tests; this file uses its Stripe API. */
const rival = 'emulate@0.12.2'
const roundMs = 1_500
const maxInFlight = 64

interface Program {
  parameters: readonly string[]
  env?: Readonly<Record<string, string>>
  /** The request that creates one record. */
  create: { path: string; headers: (count: number) => Record<string, string>; body: string }
}

/** Compares how fast records are created over HTTP: on disk by the bundle's `serve`, and in memory by the rival. */
export async function measureServe(directory: string): Promise<Row[]> {
  const ours: Program = {
    parameters: [ourBundle(), 'serve', '--port'],
    env: { ...serverSettings, PAYMENTS_DATABASE_URL: `sqlite:${join(directory, 'serve.sqlite')}` },
    create: {
      path: '/agent-cards',
      headers: (count) => ({
        authorization: `Bearer ${agentKey}`,
        'x-instance-id': 'bench',
        'content-type': 'application/json',
        'idempotency-key': `bench ${process.pid} ${count}`,
      }),
      body: JSON.stringify({ data: { attributes: cardAttributes } }),
    },
  }
  return measureCreates(ours, installRival(directory))
}

/** Installs the rival into the bench's temporary directory. */
function installRival(directory: string): Program {
  const folder = join(directory, 'rival')
  const quietly = ['--no-audit', '--no-fund', '--no-save']
  execFileSync('npm', ['install', '--prefix', folder, ...quietly, rival], { stdio: ['ignore', 'ignore', 'inherit'] })
  return {
    parameters: [join(folder, 'node_modules/emulate/dist/index.js'), 'start', '--service', 'stripe', '--port'],
    create: {
      path: '/v1/customers',
      // The rival refuses a key after 5,000 calls in an hour, so the bench uses a new key after every 4,000 calls.
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
  try {
    const calls = Array.from({ length: 100_000 })
    const works = servers.map(
      ({ create }) =>
        () =>
          rateWithin(roundMs, maxInFlight, calls, create),
    )
    // Users rarely warm up a sandbox, so the first seconds of both servers are measured as well.
    const first = [await works[0]?.(), await works[1]?.()].map((rate = Number.NaN) => [rate])
    const row = (when: string, [mine, theirs]: number[][]) => {
      const measurement = `records created over REST, ${when}, 64 in flight: on disk, against ${rival} in memory`
      return compare({ measurement, unit: '/s', ours: mine, other: theirs, goal: { atLeast: 0.6 } })
    }
    return [row('first seconds', first), row('after a warm-up', await inTurns(4, works))]
  } finally {
    for (const server of servers) await server.end()
  }
}

/** Starts the program, and waits until it answers a request, even with an error. */
async function start({ parameters, env = {}, create: { path, headers, body } }: Program) {
  const port = await freePort()
  const child = startNode([...parameters, String(port)], env)
  child.stdout?.resume()
  const origin = `http://127.0.0.1:${port}`
  const agent = new Agent({ connections: maxInFlight, pipelining: 1 })
  while (
    !(await fetch(`${origin}/healthz`).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`A server ended with exit code ${child.exitCode}.`)
    await sleep(2)
  }
  let count = 0
  return {
    create: async () => {
      const answer = await agent.request({ origin, path, method: 'POST', headers: headers(++count), body })
      const text = await answer.body.text()
      if (answer.statusCode !== 200) throw new Error(text)
    },
    end: async () => {
      await agent.destroy()
      await endProcess(child, 'SIGTERM')
    },
  }
}
