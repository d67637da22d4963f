import { ConfigError } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import { realSystem } from '../core/system.ts'
import { configured, type Flags } from './configured.ts'
import { openEmbedded } from './embedded.ts'
import { orExplain } from './explain.ts'

/** Makes new keys in the configured database, for the processes that run on it too. */
export async function rotateKeys(flags: Flags): Promise<void> {
  await orExplain(async () => {
    const config = configured('rotate-keys', flags)
    if (config.databaseUrl === 'sqlite::memory:') {
      throw new ConfigError(
        'PAYMENTS_DATABASE_URL (--database-url) got sqlite::memory:; rotate-keys accepts a database that is kept.',
      )
    }
    const log = createLogger({ level: 'error' })
    const { service, close } = await openEmbedded(config, realSystem, log, undefined, { keepsUp: false })
    const { rootKey, signingKey } = await service.rotateKeys()
    await close()
    process.stdout.write(
      `Root key ${rootKey} and signing key ${signingKey} are in use from now on. What older keys made stays good.\n`,
    )
  })
}
