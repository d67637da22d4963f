import { type Client, createClient } from '../client/client.ts'
import { createRemoteFetch } from '../client/remote.ts'
import { type Config, ConfigError } from '../config.ts'
import { Failure } from '../errors.ts'
import type { Logger } from '../log.ts'
import { newSecret, type System } from '../system.ts'
import { letYoungHeapGrow } from './young-heap.ts'

export interface Connection {
  client: Client
  close(): Promise<void>
}

/** A client of the configured API: a deployed one, or the embedded sandbox, which is opened meanwhile. */
export function connect(config: Config, system: System, log: Logger): Connection {
  const instanceId = config.instanceId ?? `run_${newSecret(system, 16)}`
  return config.baseUrl === undefined
    ? connectEmbedded(config, instanceId, system, log)
    : connectRemote(config, config.baseUrl, instanceId, system, log)
}

/** Stands for the address of a service that is called without a network. */
const embeddedAddress = 'http://sandbox.invalid'

function connectEmbedded(config: Config, instanceId: string, system: System, log: Logger): Connection {
  const open = async () => {
    const { openEmbedded } = await import('./embedded.ts')
    const { service, store } = await openEmbedded(config, system, log)
    return { service, store, credential: config.key ?? (await service.localAgentKey()) }
  }
  let opening: ReturnType<typeof open> | undefined
  const opened = async () => {
    opening ??= open()
    try {
      return await opening
    } catch (error) {
      // The next call tries again: a database that was locked may be free by then.
      opening = undefined
      if (!(error instanceof ConfigError)) throw error
      throw new Failure('service_unavailable', { detail: error.message })
    }
  }
  opened().then(letYoungHeapGrow, (error: unknown) => log.warn({ err: error }, 'the sandbox is not open'))
  const client = createClient({
    baseUrl: embeddedAddress,
    fetch: async (request) => (await opened()).service.fetch(request),
    credential: async () => (await opened()).credential,
    instanceId,
    system,
    log,
  })
  return {
    client,
    close: async () => {
      const [result] = await Promise.allSettled([opening])
      if (result.status === 'fulfilled') await result.value?.store.close()
    },
  }
}

function connectRemote(config: Config, baseUrl: string, instanceId: string, system: System, log: Logger): Connection {
  letYoungHeapGrow()
  const remote = createRemoteFetch()
  const credential = () => {
    if (config.key !== undefined) return config.key
    throw new Failure('unauthenticated', {
      detail: `PAYMENTS_KEY is not set: set it to an API key or agent key of ${new URL(baseUrl).host} and start again.`,
    })
  }
  const client = createClient({ baseUrl, fetch: remote.fetch, credential, instanceId, system, log })
  return { client, close: remote.close }
}
