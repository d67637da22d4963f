import { ConfigError, outgoingProxy } from '../config/load.ts'
import type { Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import type { System } from '../core/system.ts'
import { createPublicFetch } from '../service/oauth/public-fetch.ts'
import { createSender } from '../service/request/deliver/sender.ts'
import { createService, type Service, type ServiceOptions } from '../service/service.ts'
import { openStore } from '../service/store/engine/open.ts'
import type { Store } from '../service/store/engine/store.ts'
import { WrongSecretError } from '../service/store/engine/wrapping.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World } from '../worlds/schema.ts'
import { servedAddress } from './addresses.ts'
import { orExplainWorld } from './explain-world.ts'
import { openWorldFile } from './given-file.ts'

export interface Embedded {
  service: Service
  store: Store
  /** Ends what the service does by itself, and closes the store. */
  close(): Promise<void>
}

interface EmbeddedOptions extends Pick<ServiceOptions, 'observe' | 'about'> {
  /** The world, where it is not that of the file that the settings name. */
  given?: ParsedFile<World> | undefined
  /** Whether the service does by itself, as real time goes by, what is due and forgotten; true unless it is said. */
  keepsUp?: boolean
}

/**
 * The payments service in this process, on the configured database. A person finds its pages where `serve` on the same
 * database listens. The world is the one that is given, or that of the file that the settings name.
 * @throws ConfigError when it cannot be used.
 */
export async function openEmbedded(
  config: Config,
  system: System,
  log: Logger,
  publicUrl = () => config.publicUrl ?? servedAddress(config),
  { given, keepsUp = true, ...more }: EmbeddedOptions = {},
): Promise<Embedded> {
  const file = given ?? (await openWorldFile(config))
  const store = await openOrExplain(config, system)
  const { environment, rateLimit, clientMetadata } = config
  const publicFetch = createPublicFetch(outgoingProxy())
  const send = createSender({ proxy: outgoingProxy() })
  const grounds = {
    store,
    system,
    environment,
    rateLimit,
    clientMetadata,
    publicFetch,
    send,
    log,
    publicUrl,
    world: file?.value,
    ...more,
  }
  const created = createService(grounds)
  if (keepsUp) {
    created.upkeep.start()
    created.deliveries.start()
  }
  const close = async () => {
    await created.waits.close()
    if (keepsUp) await Promise.all([created.upkeep.stop(), created.deliveries.stop()])
    await created.runLog.flush()
    await store.close()
  }
  /** Closes what was opened where the world cannot be had, so that the process ends, or opens it anew. */
  const filled = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await orExplainWorld(config, file, work)
    } catch (error) {
      await close()
      throw error
    }
  }
  const service: Service = {
    ...created,
    seed: (secrets) => filled(() => created.seed(secrets)),
    localAgentKey: () => filled(() => created.localAgentKey()),
  }
  return { store, service, close }
}

async function openOrExplain(config: Config, system: System): Promise<Store> {
  const { databaseUrl: url, secret: secrets, databaseReadUrl: readUrl, databaseConnections: connections } = config
  const isResettable = config.environment === 'sandbox'
  try {
    return await openStore({ url, system, secrets, readUrl, connections, isResettable })
  } catch (cause) {
    if (cause instanceof WrongSecretError)
      throw new ConfigError(`PAYMENTS_SECRET (--secret) ${cause.message}`, { cause })
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(`PAYMENTS_DATABASE_URL (--database-url) is not usable. ${reason}`, { cause })
  }
}
