import { loadConfig } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { isOffered } from '../rehearse/agent-access.ts'
import type { Stage, StageSetting } from '../rehearse/stage.ts'
import { openHostedSandbox } from './hosted-sandbox.ts'

/** Opens the sandbox of one trial: in memory, with the given world and the tools of a rehearsal. */
export async function openRehearsalStage({ world, confirm, system }: StageSetting): Promise<Stage> {
  const config = configOf(confirm)
  const log = createLogger({ level: config.logLevel })
  const hosted = await openHostedSandbox({ config, system, log, worldFile: world, hasUpkeep: false, offers: isOffered })
  const { service, store, publicUrl: url, fetch, listen, close } = hosted
  const { agentKey } = hosted.credentials
  if (agentKey !== null) return { store, service, agentKey, url, fetch, listen: (door) => listen(0, door), close }
  await close()
  throw world.refusal(['parties', 0], 'must have an agent with a key, which the rehearsed agent uses')
}

const configs = new Map<StageSetting['confirm'], Config>()

/** Returns the settings of a trial: all toolsets, and a very high rate limit. Ignores this process's environment. */
function configOf(confirm: StageSetting['confirm']): Config {
  const cached = configs.get(confirm)
  if (cached !== undefined) return cached
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
