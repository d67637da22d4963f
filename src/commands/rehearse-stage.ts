import { loadConfig } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { isOffered } from '../rehearse/agent-access.ts'
import type { Stage, StageSetting } from '../rehearse/stage.ts'
import { type Listener, listen } from '../service/listen.ts'
import { embeddedAddress } from './addresses.ts'
import { openEmbedded } from './embedded.ts'
import { createSite } from './site.ts'

/** Opens the sandbox of one trial: in memory, with the world that is given, and offered to agents as a rehearsal is. */
export async function openRehearsalStage({ world, confirm, system }: StageSetting): Promise<Stage> {
  const config = configOf(confirm)
  const log = createLogger({ level: config.logLevel })
  let listener: Listener | undefined
  const publicUrl = () => listener?.url ?? embeddedAddress
  const embedded = await openEmbedded(config, system, log, publicUrl, { given: world, keepsUp: false })
  const { service, store } = embedded
  try {
    const { agentKey } = await service.seed({ apiKey: undefined, agentKey: undefined })
    if (agentKey === null) throw world.refusal(['parties', 0], 'must have an agent with a key, which is rehearsed')
    const site = await createSite({ config, service, store, publicUrl, system, log, offers: isOffered })
    return {
      store,
      service,
      agentKey,
      url: publicUrl,
      fetch: (request) => site.fetch(request),
      listen: async (door) => {
        const { corsPaths, publicPaths } = site
        const isEnding = service.readiness.isEnding
        const given = { fetch: door, host: config.host, port: 0, corsPaths, publicPaths, isEnding }
        listener = await listen({ ...given, closeWithinMs, system, log })
      },
      close: async () => {
        await service.readiness.end().catch(() => {})
        await Promise.all([site.close(), listener?.close()])
        await embedded.close()
      },
    }
  } catch (error) {
    await embedded.close()
    throw error
  }
}

const closeWithinMs = 250

const configs = new Map<StageSetting['confirm'], Config>()

/** Nothing of this process's environment. What an agent may use is offered; how fast it is, is not judged. */
function configOf(confirm: StageSetting['confirm']): Config {
  const known = configs.get(confirm)
  if (known !== undefined) return known
  const flags = {
    databaseUrl: 'sqlite::memory:',
    toolsets: 'all',
    confirm,
    rateLimit: '1000000000',
    logLevel: 'silent',
  }
  const config = loadConfig({ env: {}, flags })
  configs.set(confirm, config)
  return config
}
