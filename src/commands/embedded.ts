import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import { createService, type Service } from '../service/service.ts'
import { openStore } from '../service/store/open.ts'
import type { Store } from '../service/store/store.ts'
import type { System } from '../system.ts'

export interface Embedded {
  service: Service
  store: Store
}

/** The payments service in this process, on the configured database. */
export async function openEmbedded(config: Config, system: System, log: Logger): Promise<Embedded> {
  const store = await openStore({ url: config.databaseUrl, system })
  const { environment, rateLimit } = config
  return { store, service: createService({ store, system, environment, rateLimit, log }) }
}
