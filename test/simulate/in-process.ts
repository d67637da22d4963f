import { PassThrough } from 'node:stream'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { createClient } from '../../src/client/client.ts'
import { createMcpServer } from '../../src/mcp/server.ts'
import { serveOverStdio } from '../../src/mcp/stdio.ts'
import { createService } from '../../src/service/service.ts'
import { connectCaller } from '../../src/simulate/mcp-caller.ts'
import { type SimulationOptions, simulate } from '../../src/simulate/simulate.ts'
import type { Target } from '../../src/simulate/world.ts'
import { databases } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { serverOptions } from '../support/server-options.ts'

export type Fetch = (request: Request) => Promise<Response>
/** A function that wraps the MCP servers' `fetch` so that the service appears faulty. It is called once per world. */
export type Fault = (fetch: Fetch) => Fetch

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Returns a target whose worlds run in this process: the real service, with real MCP servers and clients. */
export function localTarget(fault: Fault = (fetch) => fetch, database = databases[0]): Target {
  const open = async () => {
    if (database === undefined) throw new Error('no database')
    // The clock starts on a day that the next month lacks: February 2026 has no 29th.
    const system = fakeSystem({ now: Date.UTC(2026, 0, 29, 9) })
    const { store, drop } = await database.create(system)
    const service = createService({ store, system, environment: 'sandbox', rateLimit: 1_000_000_000, log: quiet })
    const fetch = fault(service.fetch)
    const credential = await service.localAgentKey()
    const actor = await service.identify(credential)
    const headers = new Headers()
    const connect = async (agent: number) => {
      const baseUrl = 'http://sandbox.test'
      const client = createClient({
        baseUrl,
        fetch,
        credential: () => credential,
        instanceId: instanceIdOf(agent),
        system,
      })
      const [toServer, toHost] = [new PassThrough(), new PassThrough()]
      const server = serveOverStdio({
        createServer: (cut) => {
          const plan = async (operation: string) =>
            actor === undefined
              ? undefined
              : service.faults.plan({ path: '/mcp', operation, headers, actor, instanceId: instanceIdOf(agent) })
          return createMcpServer(
            serverOptions({ client: async () => client, actor: 'agent', faults: { plan, cut }, log: quiet }),
          )
        },
        onClose: () => {},
        log: quiet,
        system,
        stdin: toServer,
        stdout: toHost,
      })
      const caller = await connectCaller(new StdioServerTransport(toHost, toServer), agent)
      const close = async () => {
        await caller.close()
        await server.close()
      }
      return { ...caller, close }
    }
    return { connect, close: drop, instanceIdOf }
  }
  return { isolated: true, open }
}

const instanceIdOf = (agent: number) => `run-${agent}`

/** Runs a small simulation in this process. */
export function simulateInProcess(options: Partial<SimulationOptions> = {}) {
  return simulate({
    target: localTarget(),
    where: 'a test',
    system: fakeSystem(),
    agents: 4,
    purchases: 25,
    seed: 'payments',
    clockJumps: true,
    faults: true,
    concurrency: 1,
    ...options,
  })
}

export const matches = (request: Request, method: string, path: RegExp) =>
  request.method === method && path.test(new URL(request.url).pathname)

/** Returns a fault that applies `change` to the successful answers to matching requests. */
export const alterAnswers =
  (method: string, path: RegExp, change: (text: string) => string): Fault =>
  (fetch) =>
  async (request) => {
    const response = await fetch(request)
    if (!matches(request, method, path) || !response.ok) return response
    return new Response(change(await response.text()), response)
  }

/** Returns a fault that sends each matching POST request twice, with different idempotency keys. */
export const sendTwice =
  (path: RegExp): Fault =>
  (fetch: Fetch) =>
  async (request) => {
    if (matches(request, 'POST', path)) await fetch(rekey(request.clone()))
    return fetch(request)
  }

/** Returns a copy of the request with a different idempotency key. */
export function rekey(request: Request): Request {
  const changed = new Request(request)
  changed.headers.set('Idempotency-Key', `${request.headers.get('Idempotency-Key')} again`)
  return changed
}
