import { type Config, ConfigError } from '../config.ts'
import type { Logger } from '../log.ts'
import { createService, type Service } from '../service/service.ts'
import { openStore } from '../service/store/open.ts'
import type { Store } from '../service/store/store.ts'
import type { System } from '../system.ts'

export interface Embedded {
  service: Service
  store: Store
}

/** The payments service in this process, on the configured database. @throws ConfigError when it cannot be used. */
export async function openEmbedded(
  config: Config,
  system: System,
  log: Logger,
  publicUrl = () => addressOf(config),
): Promise<Embedded> {
  const store = await openOrExplain(config.databaseUrl, system)
  const { environment, rateLimit } = config
  return { store, service: createService({ store, system, environment, rateLimit, log, publicUrl }) }
}

/** Where `serve` on the same database listens, which is where a person finds the pages. */
function addressOf({ host, port }: Config): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function openOrExplain(url: string, system: System): Promise<Store> {
  try {
    return await openStore({ url, system })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(`PAYMENTS_DATABASE_URL (--database-url) is not usable. ${reason}`, { cause })
  }
}
