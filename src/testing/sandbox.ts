import { createClient } from '../client/client.ts'
import { embeddedAddress } from '../commands/addresses.ts'
import { openEmbedded } from '../commands/embedded.ts'
import { createSite } from '../commands/site.ts'
import { createLogger } from '../config/log.ts'
import { type Fetch, inProcessFetch, networkFailure } from '../core/in-process-fetch.ts'
import { requireNode } from '../core/node-version.ts'
import { realSystem, type System } from '../core/system.ts'
import { type Listener, listen } from '../service/listen.ts'
import type { SeededCredentials } from '../service/seed.ts'
import { openSignals } from '../service/store/engine/open-signals.ts'
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

/** A payments service of its own, in this process: the REST API, its pages and MCP. */
export interface Sandbox extends SandboxSnapshots, AsyncDisposable {
  /** As the global one, of this sandbox: takes paths, and asks this sandbox whatever the address. */
  fetch: Fetch
  /** The address of the API, without a slash at its end. */
  url: string
  /** The address of the MCP endpoint. */
  mcpUrl: string
  /** The credentials of the seeded party and of its agent. */
  keys: SandboxKeys
  clock: SandboxClock
  faults: SandboxFaults
  /** Ends all that it does. What is under way, and all that follows, rejects as where the network fails. */
  close(): Promise<void>
}

export interface SandboxKeys {
  api: string
  agent: string
}

/** Opens a sandbox. @throws TypeError that names the option which cannot be used; Error on a Node.js that is too old */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  requireNode('createSandbox')
  const opened: Closing[] = []
  const close = once(async () => {
    for (let end = opened.pop(); end !== undefined; end = opened.pop()) await end()
  })
  try {
    const { serve, keys, url, system, ended } = await open(options, opened)
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
  } catch (error) {
    await close()
    throw byOption(error)
  }
}

type Closing = () => Promise<void>

/** @param opened Is given what closes each part, before the next part is opened. */
async function open(options: SandboxOptions, opened: Closing[]) {
  const config = configOf(options)
  const given = await worldOf(options)
  const log = createLogger({ level: config.logLevel })
  const ending = new AbortController()
  const system = waitingUntil(ending.signal)
  let listener: Listener | undefined
  const publicUrl = () => listener?.url ?? embeddedAddress
  const { service, store, close } = await openEmbedded(config, system, log, publicUrl, { given })
  opened.push(close)
  const keys = keysOf(await service.seed({ apiKey: undefined, agentKey: undefined }))
  const signals = await openSignals({ url: config.databaseUrl, system, log })
  opened.push(() => signals.close())
  const site = await createSite({ config, service, store, publicUrl, system, log, signals })
  opened.push(async () => {
    // Whoever waits for a status is answered, or it would take until then; nothing else waits any longer either.
    const told = service.readiness.end().catch(() => {})
    ending.abort(networkFailure(new ClosedError()))
    await Promise.all([told, site.close(), listener?.close()])
  })
  if (options.port !== false) {
    const { host, port } = config
    const { fetch, corsPaths, publicPaths } = site
    const isEnding = service.readiness.isEnding
    listener = await listen({ fetch, host, port, corsPaths, publicPaths, isEnding, closeWithinMs, system, log })
  }
  const serve = (request: Request) => site.fetch(request)
  return { serve, keys, url: publicUrl(), system, ended: ending.signal }
}

/** A world need not have both; whoever asks for the one that it has not is told so. */
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

/** Who has sent half of a request, or does not read the answer, keeps a test from ending for no longer than that. */
const closeWithinMs = 250

class ClosedError extends Error {
  readonly code = 'ECONNRESET'
  override readonly name = 'ClosedError'
  constructor() {
    super('The sandbox is closed.')
  }
}

/** Nothing sleeps beyond the end. */
function waitingUntil(ended: AbortSignal): System {
  const sleep: System['sleep'] = (ms, signal) =>
    realSystem.sleep(ms, signal === undefined ? ended : AbortSignal.any([signal, ended]))
  return { ...realSystem, sleep }
}

function once(work: Closing): Closing {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}
