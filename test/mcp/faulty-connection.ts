import { createClient } from '../../src/client/client.ts'
import { databaseMemories } from '../../src/commands/database-memory.ts'
import type { Fault } from '../../src/core/faults.ts'
import type { System } from '../../src/core/system.ts'
import type { CallMemory } from '../../src/mcp/dependencies.ts'
import { createMcpServer } from '../../src/mcp/server.ts'
import { createHosting, type Hosting, transportTo } from '../mcp-http/hosting.ts'
import { serverOptions } from '../support/server-options.ts'
import type { World } from '../support/world.ts'
import { connectHost } from './connected.ts'
import type { Host, hosts } from './hosts.ts'

/** A host that is connected to a server. The server injects faults into calls. */
export interface FaultyConnection {
  host: Host
  /** The faults of the next calls, in order; undefined for a call without a fault. Later calls have no fault. */
  nextFaults: (Fault | undefined)[]
  /** Resolves when a fault cuts off a call for the first time. */
  whenCut: Promise<void>
  close(): Promise<void>
}

interface ConnectionOptions {
  world: World
  host: (typeof hosts)[number]
  system?: System
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export async function connectOverStdio({
  world,
  host,
  system = world.system,
}: ConnectionOptions): Promise<FaultyConnection> {
  const nextFaults: FaultyConnection['nextFaults'] = []
  const repeats = { windowMs: 900_000, run: undefined, memory: memoryOf(world) }
  const plan = async () => nextFaults.shift()
  const firstCut = Promise.withResolvers<void>()
  const connection = await connectHost(world, host.open, { system, repeats, plan, onCut: firstCut.resolve })
  return { host: connection.host, nextFaults, whenCut: firstCut.promise, close: connection.close }
}

export async function connectOverHttp({
  world,
  host,
  system = world.system,
}: ConnectionOptions): Promise<FaultyConnection & { hosting: Hosting }> {
  const nextFaults: FaultyConnection['nextFaults'] = []
  const firstCut = Promise.withResolvers<void>()
  const client = createClient({
    baseUrl: 'http://sandbox.test',
    credential: () => world.agentKey,
    instanceId: 'run',
    system: world.system,
    fetch: (request) => world.service.fetch(request),
  })
  const repeats = { windowMs: 900_000, run: undefined, memory: memoryOf(world) }
  const hosting = await createHosting({
    createServer: ({ cut }) =>
      createMcpServer(
        serverOptions({
          log: silent,
          system,
          repeats,
          client: async () => client,
          faults: {
            plan: async () => nextFaults.shift(),
            cut: (id) => {
              cut(id)
              firstCut.resolve()
            },
          },
        }),
      ),
  })
  const opened = host.open()
  await opened.connect(transportTo(host.sdk, hosting.url))
  const close = async () => {
    await opened.close().catch(() => {})
    await hosting.close()
  }
  return { host: opened, nextFaults, whenCut: firstCut.promise, hosting, close }
}

const memoryOf = (world: World) => async (): Promise<CallMemory> => {
  const { keyId: id, partyId } = await world.whoami()
  return databaseMemories(world.service, world.store)({ id, partyId })
}
