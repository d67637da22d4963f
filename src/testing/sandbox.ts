import { createClient } from '../client/client.ts'
import { openHostedSandbox } from '../commands/hosted-sandbox.ts'
import { createLogger } from '../config/log.ts'
import { type Fetch, inProcessFetch, networkFailure } from '../core/in-process-fetch.ts'
import { requireNode } from '../core/node-version.ts'
import { realSystem, type System } from '../core/system.ts'
import type { SeededCredentials } from '../service/seed.ts'
import {
  clockControls,
  faultControls,
  type SandboxClock,
  type SandboxFaults,
  type SandboxSnapshots,
  snapshotControls,
} from './controls.ts'
import { configOf, parseWorldOption, type SandboxOptions, withOptionNames } from './options.ts'

export type { SandboxClock, SandboxFault, SandboxFaults, SandboxSnapshots } from './controls.ts'
export type { SandboxOptions } from './options.ts'

/**
 * An isolated payments service in this process: the REST API, its pages and MCP.
 *
 * Sandboxes in one process are independent, unless they use the same PostgreSQL database. Methods reject with an
 * `ApiError` from `payments-mcp/client` if the sandbox refuses the request, and with a `TypeError` after `close()`.
 */
export interface Sandbox extends SandboxSnapshots, AsyncDisposable {
  /**
   * Works like the global `fetch`, but sends every request to this sandbox, whatever the URL's host is. Also accepts
   * paths. Does not follow redirects. Rejects with a `TypeError` if a fault cuts the connection.
   */
  fetch: Fetch
  /** The address of the API, such as `http://127.0.0.1:41573`, without a trailing slash. */
  url: string
  /** The address of the MCP endpoint. If you append `/x/all`, the endpoint offers every tool. */
  mcpUrl: string
  /** The keys of the first party and its first agent. */
  keys: SandboxKeys
  /** The sandbox clock. It moves back only when the sandbox is reset or a saved state is restored. */
  clock: SandboxClock
  /** The failures that the sandbox injects. */
  faults: SandboxFaults
  /** Stops the sandbox. Pending and later requests reject as if the network had failed. `await using` calls this. */
  close(): Promise<void>
}

/**
 * Bearer credentials of the sandbox. Reading a credential throws an `Error` if the key does not exist, or if its secret
 * is unknown.
 */
export interface SandboxKeys {
  /** The API key of the world's first party, `sk_ntl_sandbox_…`. */
  api: string
  /** The key of that party's first agent, `ak_ntl_sandbox_…`. */
  agent: string
}

/**
 * Opens a sandbox in this process, in a few milliseconds. Ignores `PAYMENTS_…` environment variables.
 * @param options The world, the port, the database and the log level. Each has a default.
 * @returns The running sandbox. Close it after the last test.
 * @throws {TypeError} If an option is unknown or invalid; the message says which.
 * @throws {Error} If the world is invalid, the database or the port cannot be used, or Node.js is too old.
 * @example One sandbox for a whole test file, with a request that fails once:
 * ```ts
 * import { createSandbox } from 'payments-mcp/testing'
 *
 * const sandbox = await createSandbox({ port: false })
 * const whoami = () => sandbox.fetch('/whoami', { headers: { Authorization: `Bearer ${sandbox.keys.agent}` } })
 *
 * await sandbox.faults.set({ operation: 'whoami', fault: 'error', code: 'service_unavailable', when: { nth: 1 } })
 * console.log((await whoami()).status) // 503
 * console.log((await whoami()).status) // 200
 *
 * await sandbox.reset() // between tests
 * await sandbox.close() // after the last test
 * ```
 * @example A sandbox for a single test, with its own world and a free port. Its clock moves a week forward:
 * ```ts
 * import { createSandbox } from 'payments-mcp/testing'
 *
 * const shop = { wallets: { main: { balance: 250_000 } }, apiKeys: { tests: {} } } // $2,500.00
 * await using sandbox = await createSandbox({ world: { parties: { shop } } })
 * await sandbox.clock.advance(7 * 24 * 60 * 60)
 * console.log(sandbox.url, sandbox.mcpUrl, await sandbox.clock.now())
 * ```
 */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  requireNode('createSandbox')
  const { serve, keys, url, system, ended, close } = await open(options).catch((error: unknown) => {
    throw withOptionNames(error)
  })
  const credential = () => keys.api
  const client = createClient({ baseUrl: url, fetch: serve, credential, instanceId: 'createSandbox', system })
  const operations = () => {
    ended.throwIfAborted()
    return client.operations
  }
  return {
    fetch: inProcessFetch({ serve, base: url, ended }),
    url,
    mcpUrl: `${url}/mcp`,
    keys,
    clock: clockControls(operations),
    faults: faultControls(operations),
    ...snapshotControls(operations),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function open(options: SandboxOptions) {
  const config = configOf(options)
  const world = await parseWorldOption(options)
  const log = createLogger({ level: config.logLevel })
  const ending = new AbortController()
  const system = endSleepsOn(ending.signal)
  const hosted = await openHostedSandbox({ config, system, log, worldFile: world })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= hosted.close()
    ending.abort(networkFailure(new ClosedError()))
    return closed
  }
  try {
    if (options.port !== false) await hosted.listen(config.port)
  } catch (error) {
    await close()
    throw error
  }
  const { fetch: serve, publicUrl, credentials } = hosted
  return { serve, keys: keysOf(credentials), url: publicUrl(), system, ended: ending.signal, close }
}

/** Returns the keys of the world. If a key is missing or its secret is unknown, reading the key throws an error. */
function keysOf({ apiKey, agentKey }: SeededCredentials): SandboxKeys {
  const requireKey = (key: string | null, owner: string) => {
    if (key !== null) return key
    throw new Error(
      `The sandbox's first party has no ${owner} whose secret this process knows. Add one to the world, or use an empty database.`,
    )
  }
  return {
    get api() {
      return requireKey(apiKey, 'API key')
    },
    get agent() {
      return requireKey(agentKey, 'agent with a key')
    },
  }
}

class ClosedError extends Error {
  readonly code = 'ECONNRESET'
  override readonly name = 'ClosedError'
  constructor() {
    super('The sandbox is closed.')
  }
}

/** Returns a system whose `sleep` ends early if the signal aborts. */
function endSleepsOn(ended: AbortSignal): System {
  const sleep: System['sleep'] = (ms, signal) =>
    realSystem.sleep(ms, signal === undefined ? ended : AbortSignal.any([signal, ended]))
  return { ...realSystem, sleep }
}
