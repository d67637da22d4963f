import { createClient } from '../client/client.ts'
import { openHostedSandbox } from '../commands/hosted-sandbox.ts'
import { createLogger } from '../config/log.ts'
import { type Fetch, inProcessFetch, networkFailure } from '../core/in-process-fetch.ts'
import { requireNode } from '../core/node-version.ts'
import { realSystem, type System } from '../core/system.ts'
import type { SeededCredentials } from '../service/seed.ts'
import {
  clockBy,
  faultsBy,
  type SandboxClock,
  type SandboxFaults,
  type SandboxSnapshots,
  snapshotsBy,
} from './controls.ts'
import { byOption, configOf, type SandboxOptions, worldOf } from './options.ts'

export type { SandboxClock, SandboxFault, SandboxFaults, SandboxSnapshots } from './controls.ts'
export type { SandboxOptions } from './options.ts'

/** An isolated payments service in this process: the REST API, its pages and MCP. */
export interface Sandbox extends SandboxSnapshots, AsyncDisposable {
  /** The global `fetch`, bound to this sandbox: accepts paths, and calls this sandbox whatever the address. */
  fetch: Fetch
  /** The address of the API, without a trailing slash. */
  url: string
  /** The address of the MCP endpoint. */
  mcpUrl: string
  /** The credentials of the seeded party and of its agent. */
  keys: SandboxKeys
  clock: SandboxClock
  faults: SandboxFaults
  /** Stops the sandbox. Pending and later requests reject as if the network failed. */
  close(): Promise<void>
}

export interface SandboxKeys {
  api: string
  agent: string
}

/** Opens a sandbox. @throws TypeError that names the option which cannot be used; Error on a Node.js that is too old */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  requireNode('createSandbox')
  const { serve, keys, url, system, ended, close } = await open(options).catch((error: unknown) => {
    throw byOption(error)
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
    clock: clockBy(operations),
    faults: faultsBy(operations),
    ...snapshotsBy(operations),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function open(options: SandboxOptions) {
  const config = configOf(options)
  const given = await worldOf(options)
  const log = createLogger({ level: config.logLevel })
  const ending = new AbortController()
  const system = waitingUntil(ending.signal)
  const hosted = await openHostedSandbox({ config, system, log, given })
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

/** Returns the keys of the world. Either may be missing; reading a missing one throws an error that says so. */
function keysOf({ apiKey, agentKey }: SeededCredentials): SandboxKeys {
  const known = (key: string | null, what: string) => {
    if (key !== null) return key
    throw new Error(
      `The sandbox's first party has no ${what} whose secret is known here: give it one in the world, or begin with an empty database.`,
    )
  }
  return {
    get api() {
      return known(apiKey, 'API key')
    },
    get agent() {
      return known(agentKey, 'agent with a key')
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

/** Returns a system in which every sleep ends with the signal at the latest. */
function waitingUntil(ended: AbortSignal): System {
  const sleep: System['sleep'] = (ms, signal) =>
    realSystem.sleep(ms, signal === undefined ? ended : AbortSignal.any([signal, ended]))
  return { ...realSystem, sleep }
}
