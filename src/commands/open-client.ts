import type { Fetch } from '../auth/resource-metadata.ts'
import { createStoredCredential } from '../auth/stored-credential.ts'
import { createTokenStore } from '../auth/token-store.ts'
import { type Client, createClient } from '../client/client.ts'
import { createRemoteFetch } from '../client/remote.ts'
import { ConfigError, dataDirectory } from '../config/load.ts'
import type { Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { Failure } from '../core/errors.ts'
import type { Fault } from '../core/faults.ts'
import { plainHeaders } from '../core/plain-headers.ts'
import { newSecret, type System } from '../core/system.ts'
import type { CallMemory, RunNote } from '../mcp/dependencies.ts'
import { embeddedAddress } from './addresses.ts'
import type { FaultRules } from './command-config.ts'
import { letYoungHeapGrow } from './start-memory.ts'
import { program } from './version.ts'
import { isWrongDatabase } from './wrong-database.ts'

/** The settings of a client, with the rules from the configured fault file. */
export type ClientConfig = Config & { rules?: FaultRules | undefined }

export interface OpenClient {
  client: Client
  /** Opens the memory of the calls that were sent with this client's credential. */
  memory(): Promise<CallMemory>
  /**
   * Returns the fault to inject into a call of the tool (docs/sandbox.md#faults). With a deployed API, there is none.
   */
  plan(tool: string): Promise<Fault | undefined>
  /** Calls `onChange` with the ids of the party's changed records. With a deployed API, never calls `onChange`. */
  follow(onChange: (resourceIds: readonly string[]) => void): Promise<void>
  /** Records, for the agent's run, an event that involves no API request. With a deployed API, does nothing. */
  note(runNote: RunNote): Promise<void>
  /** Resolves when the client can be used. @throws ConfigError if the sandbox cannot be opened. */
  ready(): Promise<void>
  close(): Promise<void>
}

/** Opens a client of the configured API: a deployed API, or the embedded sandbox, which opens in the background. */
export function openClient(config: ClientConfig, system: System, log: Logger): OpenClient {
  const instanceId = config.instanceId ?? `run_${newSecret(system, 16)}`
  return config.baseUrl === undefined
    ? openEmbeddedClient(config, instanceId, system, log)
    : openRemoteClient(config, config.baseUrl, instanceId, system, log)
}

/**
 * Opens a client of the embedded sandbox. Closing the client closes the sandbox that `open` returned. If clients share
 * a sandbox, its `close` must do nothing.
 */
export function openEmbeddedClient(
  config: ClientConfig,
  instanceId: string,
  system: System,
  log: Logger,
  open = () => openSandbox(config, system, log),
): OpenClient {
  let opening: ReturnType<typeof openSandbox> | undefined
  const openOnce = async () => {
    opening ??= open()
    try {
      return await opening
    } catch (error) {
      // Lets the next call try again, because a locked database may be free when that call is made.
      opening = undefined
      throw error
    }
  }
  const openService = async () => {
    try {
      return await openOnce()
    } catch (error) {
      if (!(error instanceof ConfigError) || isWrongDatabase(error)) throw error
      throw new Failure('service_unavailable', { detail: error.message })
    }
  }
  openService().then(letYoungHeapGrow, (error: unknown) => {
    // With a world file, startup waits until the sandbox is open, and reports any failure itself.
    if (config.world === undefined && !isWrongDatabase(error))
      log.warn({ err: error }, 'the sandbox could not be opened')
  })
  const client = createClient({
    baseUrl: embeddedAddress,
    fetch: async (request) => (await openService()).service.fetch(request),
    carry: async (request, signal) => (await openService()).carry(request, signal),
    credential: async () => (await openService()).credential,
    instanceId,
    program,
    system,
    log,
  })
  return {
    client,
    memory: async () => (await openService()).memory(),
    plan: async (operation) => {
      const { service, actor: actorNow } = await openService()
      const actor = await actorNow()
      if (actor === undefined) return undefined
      return service.faults.plan({ path: '/mcp', operation, headers: noHeaders, actor, instanceId })
    },
    follow: async (onChange) => {
      const { service, actor } = await openService()
      const { partyId } = (await actor()) ?? unknownPrincipal
      const onEvents = (events: readonly { partyId: string; resourceId: string }[]) =>
        onChange(events.filter((event) => event.partyId === partyId).map(({ resourceId }) => resourceId))
      await service.waits.follow({ watched: () => [partyId], onChanges: onEvents }).begin(partyId)
    },
    note: async (runNote) => {
      const { service, actor: actorNow } = await openService()
      const actor = await actorNow()
      if (actor !== undefined) service.reportEntry({ ...runNote, ...actor, instanceId })
    },
    ready: async () => {
      await openOnce()
    },
    close: async () => {
      const [result] = await Promise.allSettled([opening])
      if (result.status === 'fulfilled') await result.value?.close()
    },
  }
}

/** Opens the embedded sandbox. The credential is the configured key, or by default the sandbox's own agent key. */
export async function openSandbox(config: ClientConfig, system: System, log: Logger) {
  const { openEmbedded } = await import('./embedded-service.ts')
  const { service, store, close } = await openEmbedded(config, system, log)
  // If the world file defines the configured key, the key exists only after the database is filled.
  if (config.world !== undefined && config.key !== undefined) await service.seed(noSecrets)
  const credential = config.key ?? (await service.localAgentKey())
  if (config.rules !== undefined) await service.faults.load(config.rules)
  let identity: Awaited<ReturnType<typeof service.identify>>
  const actor = async () => {
    identity ??= await service.identify(credential)
    return identity
  }
  const openMemory = async () => {
    const { databaseMemories } = await import('./database-memory.ts')
    const { keyId: id, partyId } = (await actor()) ?? unknownPrincipal
    return databaseMemories(service, store)({ id, partyId })
  }
  let memory: CallMemory | undefined
  const memoryNow = async () => {
    memory ??= await openMemory()
    return memory
  }
  return { service, close, carry: service.carry(), credential, actor, memory: memoryNow }
}

/** The methods that have an effect only with the embedded sandbox. For a deployed API, these versions do nothing. */
const sandboxOnly = { note: async () => {}, follow: async () => {}, plan: async () => undefined, ready: async () => {} }

const noHeaders = plainHeaders({})

const noSecrets = { apiKey: undefined, agentKey: undefined }

/** The ids to use if the sandbox does not know the key. The API refuses every call with an unknown key. */
const unknownPrincipal = { keyId: '', partyId: '' }

function openRemoteClient(
  config: Config,
  baseUrl: string,
  instanceId: string,
  system: System,
  log: Logger,
): OpenClient {
  letYoungHeapGrow()
  const remote = createRemoteFetch()
  const { fetch, close } = remote
  const { key } = config
  const store = createTokenStore({ directory: dataDirectory().path, system })
  const loginPrincipal = async () => {
    const { subjectOf } = await import('../auth/login-subject.ts')
    return `login ${subjectOf((await store.read()).logins[baseUrl])}`
  }
  let current: { principal: string; memory: CallMemory } | undefined
  const memory = async () => {
    const { fileMemory } = await import('./file-memory.ts')
    // The login is part of the principal, so that each person who signs in at this address has a separate memory.
    const principal = `${key ?? (await loginPrincipal())} ${baseUrl}`
    if (current?.principal !== principal) {
      const path = dataDirectory().file('sent-calls.json')
      current = { principal, memory: fileMemory({ path, principal, system, log }) }
    }
    return current.memory
  }
  const stored = key === undefined ? createStoredCredential({ baseUrl, store, system, fetch, log }) : undefined
  const client = createClient({
    baseUrl,
    fetch: stored === undefined ? fetch : reportRefusals(fetch, stored.refused),
    credential: stored ?? (() => key ?? ''),
    instanceId,
    program,
    system,
    log,
  })
  return { client, memory, ...sandboxOnly, close }
}

/** Wraps `fetch` to report each token that the API refuses. A revoked token looks valid until the API refuses it. */
function reportRefusals(fetch: Fetch, onRefusal: (accessToken: string) => void): Fetch {
  return async (request) => {
    const response = await fetch(request)
    if (response.status === 401) onRefusal(request.headers.get('Authorization')?.replace(/^Bearer /, '') ?? '')
    return response
  }
}
