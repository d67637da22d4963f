import { databaseMemories } from '../../src/commands/database-memory.ts'
import { fileMemory } from '../../src/commands/file-memory.ts'
import { createSite } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import { realSystem, type System } from '../../src/core/system.ts'
import type { CallMemory } from '../../src/mcp/dependencies.ts'
import { listen } from '../../src/service/listen.ts'
import { transportTo } from '../mcp-http/hosting.ts'
import type { World } from '../support/world.ts'
import { connectHost } from './connected.ts'
import type { Host, hosts } from './hosts.ts'

/** Transmits a request to create a payment. May delay the request or the answer, or lose or replace the answer. */
type Delivery = <Answer>(send: () => Promise<Answer>, refuse: (status: number) => Answer) => Promise<Answer>

/**
 * A network. For the next requests to create a payment, it uses `deliveries` in order, one for each request. It
 * transmits all other requests normally.
 */
export interface Network {
  deliveries: Delivery[]
}

export const lost: Delivery = async (send) => {
  await send()
  throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
}
export const unavailable: Delivery = async (send, refuse) => {
  await send()
  return refuse(503)
}

/**
 * Creates a delivery that holds a request before or after the service handles it. When the request is held, `arrived`
 * resolves.
 */
export function holdRequest(when: 'before' | 'after') {
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const done = Promise.withResolvers<void>()
  const delivery: Delivery = async (send) => {
    const early = when === 'after' ? await send() : undefined
    arrived.resolve()
    await released.promise
    const answer = early ?? (await send())
    done.resolve()
    return answer
  }
  /** Lets the held request continue, and waits until the service has answered it. */
  const release = () => {
    released.resolve()
    return done.promise
  }
  return { delivery, arrived: arrived.promise, release }
}

/** Connects hosts to the service. `open` connects a new host; over stdio, each host has its own server process. */
export interface Connector {
  network: Network
  open(): Promise<Host>
  close(): Promise<void>
}

interface ConnectorOptions {
  windowSeconds: number
  /** The world of each server process. New hosts use the worlds in turn. */
  worlds: readonly World[]
  host: (typeof hosts)[number]
  /** The caller's API key or agent key. Default: the key of the world's agent. */
  key?: string
}

/**
 * Returns a system whose sleeps take a 40th of the given time on the real clock, and do not advance the world's clock.
 */
export const shortenWaits = (system: System): System => ({
  ...system,
  sleep: (ms, signal) => realSystem.sleep(ms / 40, signal),
})

const isPayment = (method: string, path: string) => method === 'POST' && path.endsWith('/payments')
const refusalBody = JSON.stringify({ errors: [{ code: 'service_unavailable', detail: 'Not now.', status: '503' }] })

/** Creates a function that returns the items in order, one on each call, and then begins again. */
function cycleThrough<Item>(items: readonly Item[]): () => Item {
  let count = 0
  return () => items[count++ % items.length] as Item
}

function transmit<Answer>(
  network: Network,
  send: () => Promise<Answer>,
  refuse: (status: number) => Answer,
): Promise<Answer> {
  const delivery = network.deliveries.shift()
  return delivery === undefined ? send() : delivery(send, refuse)
}

/**
 * Creates a connector over stdio. With `file`, the server processes remember calls in that file, as they do with a
 * remote API. Without `file`, they remember calls in the database.
 */
export function stdioConnector(
  { windowSeconds, worlds, key, host: { open } }: ConnectorOptions,
  file?: string,
): Connector {
  const network: Network = { deliveries: [] }
  const opened: { close(): Promise<void> }[] = []
  const next = cycleThrough(worlds)
  return {
    network,
    open: async () => {
      const world = next()
      const system = shortenWaits(world.system)
      const memory = async (): Promise<CallMemory> => {
        const { keyId: id, partyId } = await world.whoami(key)
        if (file === undefined) return databaseMemories(world.service, world.store)({ id, partyId })
        return fileMemory({
          path: file,
          principal: key ?? world.agentKey,
          system,
          log: { info() {}, warn() {}, error() {} },
        })
      }
      const between = (request: Request) =>
        isPayment(request.method, new URL(request.url).pathname)
          ? transmit(
              network,
              () => world.service.fetch(request),
              (status) => new Response(refusalBody, { status }),
            )
          : undefined
      const repeats = { windowMs: windowSeconds * 1000, run: undefined, memory }
      const connection = await connectHost({ ...world, system: system as World['system'] }, open, {
        between,
        system,
        repeats,
        ...(key === undefined ? {} : { key, actor: 'user' as const }),
      })
      opened.push(connection)
      return connection.host
    },
    close: async () => {
      for (const { close } of opened) await close().catch(() => {})
    },
  }
}

/** Creates a connector over HTTP, with one server process per world. */
export async function httpConnector(
  { windowSeconds, worlds, key, host: { open, sdk } }: ConnectorOptions,
  headers: Record<string, string> = {},
): Promise<Connector> {
  const network: Network = { deliveries: [] }
  const config = loadConfig({ env: { PAYMENTS_TOOLSETS: 'all', PAYMENTS_REPEAT_WINDOW: String(windowSeconds) } })
  const served = await Promise.all(worlds.map((world) => serveSite(world, config, network)))
  const next = cycleThrough(served)
  const opened: Host[] = []
  return {
    network,
    open: async () => {
      const { url, world } = next()
      const client = open()
      opened.push(client)
      await client.connect(transportTo(sdk, url, key ?? world.agentKey, headers))
      return client
    },
    close: async () => {
      for (const client of opened) await client.close().catch(() => {})
      for (const { close } of served) await close()
    },
  }
}

async function serveSite(world: World, config: ReturnType<typeof loadConfig>, network: Network) {
  const [system, log] = [shortenWaits(world.system), { debug() {}, info() {}, warn() {}, error() {} }]
  const { service, store } = world
  const carry: typeof service.carry = (caller) => {
    const carrier = service.carry(caller)
    return (request, signal) =>
      isPayment(request.method, request.path)
        ? transmit(
            network,
            () => carrier(request, signal),
            (status) => ({ status, headers: new Headers(), body: refusalBody }),
          )
        : carrier(request, signal)
  }
  let url = ''
  const publicUrl = () => url
  const site = await createSite({ config, service: { ...service, carry }, store, publicUrl, system, log })
  const { fetch, corsPaths } = site
  const listener = await listen({ fetch, corsPaths, host: '127.0.0.1', port: 0, system: realSystem, log })
  url = listener.url
  const close = async () => {
    await site.close()
    await listener.close()
  }
  return { url: `${url}/mcp`, world, close }
}
