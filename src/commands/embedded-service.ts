import { ConfigError, isDefaultDatabase, outgoingProxy } from '../config/load.ts'
import { createLogger, type Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import type { Environment } from '../core/operation.ts'
import { realSystem, type System } from '../core/system.ts'
import { recordedResult } from '../mcp/tools/recorded-result.ts'
import { createPublicFetch } from '../service/oauth/public-fetch.ts'
import { createSender } from '../service/request/deliver/sender.ts'
import { createService, type Service, type ServiceOptions } from '../service/service.ts'
import { assignEnvironment, findEnvironment } from '../service/store/deployment.ts'
import { WrongSecretError } from '../service/store/engine/key-wrapping.ts'
import { openStore, withoutPassword } from '../service/store/engine/open.ts'
import type { Store } from '../service/store/engine/store.ts'
import { OtherSchemaError, WrongDatabaseError } from '../service/store/engine/wrong-database.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World } from '../worlds/schema.ts'
import { servedAddress } from './addresses.ts'
import { explainWorldErrors } from './explain-world.ts'
import { openWorldFile } from './setting-file.ts'

/** A payments service that runs in this process, with its store. */
export interface Embedded {
  service: Service
  store: Store
  /** Stops the service's background work, and closes the store. */
  close(): Promise<void>
}

interface EmbeddedOptions extends Pick<ServiceOptions, 'observe' | 'about'> {
  /** The world file to use instead of the configured one. */
  worldFile?: ParsedFile<World> | undefined
  /** Whether to apply due effects, deliver webhooks and delete expired data in the background; true by default. */
  hasUpkeep?: boolean
  /**
   * Whether to record the environment in a new database, and to replace the default sandbox file if a different
   * pre-release created it. Default: `hasUpkeep`.
   */
  isStart?: boolean
}

/**
 * Opens the payments service in this process, on the configured database. By default, the service's links begin with
 * the configured public address. If there is none, they begin with the address where `serve` listens.
 * @throws ConfigError if the database or the world cannot be used.
 */
export async function openEmbedded(
  config: Config,
  system: System,
  log: Logger,
  publicUrl = () => config.publicUrl ?? servedAddress(config),
  { worldFile, hasUpkeep = true, isStart = hasUpkeep, ...more }: EmbeddedOptions = {},
): Promise<Embedded> {
  const file = worldFile ?? (await openWorldFile(config))
  const store = await (isStart ? openOrReplace(config, system, log) : openOrExplain(config, system))
  await requireEnvironment(store, config, isStart)
  const { environment, rateLimit, clientMetadata } = config
  const publicFetch = createPublicFetch(outgoingProxy())
  const send = createSender({ proxy: outgoingProxy() })
  const options = {
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
    toolResultOf: recordedResult,
    ...more,
  }
  const created = createService(options)
  if (hasUpkeep) {
    created.upkeep.start()
    created.deliveries.start()
  }
  const close = async () => {
    await created.waits.close()
    if (hasUpkeep) await Promise.all([created.upkeep.stop(), created.deliveries.stop()])
    await created.runLog.flush()
    await store.close()
  }
  /**
   * Runs `work`, which loads the world. If `work` fails, closes the service and the store, so that the process can end
   * or try again.
   */
  const closeOnFailure = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await explainWorldErrors(config, file, work)
    } catch (error) {
      await close()
      throw error
    }
  }
  const service: Service = {
    ...created,
    seed: (secrets) => closeOnFailure(() => created.seed(secrets)),
    localAgentKey: () => closeOnFailure(() => created.localAgentKey()),
  }
  return { store, service, close }
}

/**
 * Refuses a database of a different environment. If `isStart` is true, records the environment in a new database.
 * @throws ConfigError
 */
async function requireEnvironment(store: Store, { environment, databaseUrl }: Config, isStart: boolean): Promise<void> {
  const held = await (isStart ? assignEnvironment(store, environment) : store.read(findEnvironment))
  if (held === undefined || held === environment) return
  await store.close()
  throw wrongDatabaseError(otherEnvironmentMessage(databaseUrl, held, environment))
}

function otherEnvironmentMessage(databaseUrl: string, held: Environment, environment: Environment): string {
  const got = `got ${show(withoutPassword(databaseUrl))}, which is a ${held} database, but the environment is ${environment}`
  return `PAYMENTS_DATABASE_URL (--database-url) ${got}; use another database, or start with PAYMENTS_ENVIRONMENT=${held} (--environment).`
}

/** Creates the error for a database that stays unusable. Opening it again would fail in the same way. */
function wrongDatabaseError(message: string): ConfigError {
  return new ConfigError(message, { cause: new WrongDatabaseError(message) })
}

/**
 * Opens the database. This version cannot open a default sandbox file that a different pre-release of this program
 * created. The function renames such a file and creates a new one, so that the server still starts after an update.
 */
async function openOrReplace(config: Config, system: System, log: Logger): Promise<Store> {
  try {
    return await openOrExplain(config, system)
  } catch (error) {
    const isOther = error instanceof ConfigError && error.cause instanceof OtherSchemaError
    if (!isOther || config.environment !== 'sandbox' || !isDefaultDatabase(config)) throw error
    const { setAside } = await import('../service/store/engine/sqlite-file.ts')
    const name = await setAside(config.databaseUrl.slice('sqlite:'.length))
    if (name !== undefined) {
      log.warn(
        { file: name },
        'another pre-release of payments-mcp created the sandbox: its file was renamed, and a new sandbox was created',
      )
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
    throw new ConfigError(`PAYMENTS_DATABASE_URL (--database-url) cannot be used. ${reason}`, { cause })
  }
}

/**
 * Opens the configured database for a command that works on stored data, even while other processes use the database.
 * @throws ConfigError if the database is in memory.
 */
export function openPersistent(command: string, config: Config, isStart = false): Promise<Embedded> {
  if (config.databaseUrl === 'sqlite::memory:') {
    throw new ConfigError(
      `PAYMENTS_DATABASE_URL (--database-url) got sqlite::memory:; ${command} needs a database that outlives the process.`,
    )
  }
  const log = createLogger({ level: 'error' })
  return openEmbedded(config, realSystem, log, undefined, { hasUpkeep: false, isStart })
}
