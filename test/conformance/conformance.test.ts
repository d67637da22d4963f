import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHosting, type Hosting } from '../mcp-http/hosting.ts'
import { type Served, serveWorld } from '../oauth/served.ts'
import { isDeep } from '../support/depth.ts'
import { startBearerProxy } from './bearer-proxy.ts'
import { createEverythingServer } from './everything-server.ts'
import { expectedFailures, runConformance } from './run.ts'

// This scenario tests a server that closes its stream during a call. Our server never closes a stream during a call.
const polling = 'server-sse-polling'
// The server does not offer the tasks extension.
const tasks = 'tasks-status-notifications'

const runs = [
  { release: '0.1.16', options: '--suite all', count: 32, inconclusive: [polling] },
  { release: '0.2.0-alpha.12', options: '--requirements 2025-11-25', count: 33, inconclusive: [polling] },
  { release: '0.2.0-alpha.12', options: '--requirements 2026-07-28', count: 50, inconclusive: [tasks] },
] as const

/** The scenarios of the Skills extension. They belong to no protocol version, so they run only with `--force`. */
const skills = ['2025-11-25', '2026-07-28'].flatMap((version) =>
  ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest'].map((scenario) => ({
    release: '0.2.0-alpha.12' as const,
    count: 1,
    inconclusive: [],
    options: `--scenario ${scenario} --spec-version ${version} --force`,
  })),
)

type Suite = (typeof runs)[number] | (typeof skills)[number]
type Proxy = Awaited<ReturnType<typeof startBearerProxy>>

function describeConformance(
  server: string,
  expected: string,
  suites: readonly Suite[],
  start: () => Promise<Proxy>,
  stop: () => Promise<void>,
) {
  describe.concurrent(`the conformance of ${server}`, () => {
    let proxy: Proxy
    beforeAll(async () => {
      proxy = await start()
    })
    afterAll(async () => {
      await proxy.close()
      await stop()
    })

    for (const { release, options, ...figures } of suites) {
      test(`only expected scenarios of release ${release} fail with ${options}`, async () => {
        const outcome = await runConformance(`${proxy.url}/mcp`, { release, options, expected })
        const listed = await expectedFailures(expected)
        expect(outcome.code, outcome.printed).toBe(0)
        expect(outcome.failed.filter((scenario) => !listed.has(scenario))).toEqual([])
        expect({ count: outcome.count, inconclusive: outcome.inconclusive }).toEqual(figures)
      })
    }
  })
}

let served: Served
describeConformance(
  'the payments server',
  './expected-real.yml',
  [...runs, ...skills],
  async () => {
    served = await serveWorld()
    return startBearerProxy(served.url, served.world.agentKey)
  },
  () => served.close(),
)

let hosting: Hosting
describeConformance(
  'the fixtures behind the same transport',
  './expected-everything.yml',
  // Only the run for the newest protocol version uses all fixtures.
  isDeep ? runs : runs.slice(-1),
  async () => {
    hosting = await createHosting({
      createServer: (connection) => createEverythingServer((event) => hosting.endpoint.notify(event), connection),
    })
    return startBearerProxy(hosting.url, 'token-of-alice')
  },
  () => hosting.close(),
)
