import { ConfigError, isDefaultDatabase, outgoingProxy } from '../config/load.ts'
import { createLogger, type Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import type { Environment } from '../core/operation.ts'
import { realSystem, type System } from '../core/system.ts'
import { createPublicFetch } from '../service/oauth/public-fetch.ts'
import { createSender } from '../service/request/deliver/sender.ts'
import { createService, type Service, type ServiceOptions } from '../service/service.ts'
import { heldEnvironment, holdEnvironment } from '../service/store/deployment.ts'
import { openStore, withoutPassword } from '../service/store/engine/open.ts'
import type { Store } from '../service/store/engine/store.ts'
import { WrongSecretError } from '../service/store/engine/wrapping.ts'
import { OtherSchemaError, WrongDatabaseError } from '../service/store/engine/wrong-database.ts'
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
  /** Whether this is a start, which marks a database without an environment; so it is where the service keeps up. */
  isStart?: boolean
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
  { given, keepsUp = true, isStart = keepsUp, ...more }: EmbeddedOptions = {},
): Promise<Embedded> {
  const file = given ?? (await openWorldFile(config))
  const store = await (isStart ? openOrBeginAnew(config, system, log) : openOrExplain(config, system))
  await requireEnvironment(store, config, isStart)
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

/** @throws ConfigError where the database belongs to the other environment. */
async function requireEnvironment(store: Store, { environment, databaseUrl }: Config, isStart: boolean): Promise<void> {
  const held = await (isStart ? holdEnvironment(store, environment) : store.read(heldEnvironment))
  if (held === undefined || held === environment) return
  await store.close()
  throw wrongDatabase(otherEnvironment(databaseUrl, held, environment))
}

/** Says that a database belongs to the other environment, and how to go on. */
function otherEnvironment(databaseUrl: string, held: Environment, environment: Environment): string {
  const got = `got ${show(withoutPassword(databaseUrl))}, which is a ${held} database, for a ${environment} start`
  return `PAYMENTS_DATABASE_URL (--database-url) ${got}; name another database, or start with PAYMENTS_ENVIRONMENT=${held} (--environment).`
}

/** A refusal of a database that no later try will open. */
function wrongDatabase(message: string): ConfigError {
  return new ConfigError(message, { cause: new WrongDatabaseError(message) })
}

/**
 * Opens the database. The sandbox file of a user who configured none is set aside where another pre-release made it, and
 * begun anew: an update must not end the server of any host.
 */
async function openOrBeginAnew(config: Config, system: System, log: Logger): Promise<Store> {
  try {
    return await openOrExplain(config, system)
  } catch (error) {
    const isOther = error instanceof ConfigError && error.cause instanceof OtherSchemaError
    if (!isOther || config.environment !== 'sandbox' || !isDefaultDatabase(config)) throw error
    const { setAside } = await import('../service/store/engine/sqlite-file.ts')
    const name = await setAside(config.databaseUrl.slice('sqlite:'.length))
    if (name !== undefined) {
      log.warn({ file: name }, 'the sandbox was made by another pre-release of payments-mcp: set aside, and begun anew')
    }
    return openOrExplain(config, system)
  }
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

/**
 * Opens the configured database for a command that works on what is kept, beside the processes that run on it.
 * @throws ConfigError where the database is in memory.
 */
export function openKept(command: string, config: Config, isStart = false): Promise<Embedded> {
  if (config.databaseUrl === 'sqlite::memory:') {
    throw new ConfigError(
      `PAYMENTS_DATABASE_URL (--database-url) got sqlite::memory:; ${command} accepts a database that is kept.`,
    )
  }
  const log = createLogger({ level: 'error' })
  return openEmbedded(config, realSystem, log, undefined, { keepsUp: false, isStart })
}
