import { ConfigError } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import { realSystem } from '../core/system.ts'
import { resetSecondFactor } from '../service/operations/steps/reset-second-factor.ts'
import { configured, type Flags } from './configured.ts'
import { openEmbedded } from './embedded.ts'
import { orExplain } from './explain.ts'

export type ResetFlags = Flags & { email: string }

/** Takes the authenticator app of a user away, in the configured database, beside the processes that run on it. */
export async function resetAuthenticator({ email, ...flags }: ResetFlags): Promise<void> {
  await orExplain(async () => {
    const config = configured('reset-second-factor', flags)
    if (config.baseUrl !== undefined) {
      throw new ConfigError(
        `PAYMENTS_BASE_URL (--base-url) got ${config.baseUrl}; reset-second-factor works on a database only. Run it on the machine of that service, with PAYMENTS_DATABASE_URL.`,
      )
    }
    if (config.databaseUrl === 'sqlite::memory:') {
      throw new ConfigError(
        'PAYMENTS_DATABASE_URL (--database-url) got sqlite::memory:; reset-second-factor accepts a database that is kept.',
      )
    }
    const log = createLogger({ level: 'error' })
    const { store, close } = await openEmbedded(config, realSystem, log, undefined, { keepsUp: false })
    const result = await resetSecondFactor({ store, system: realSystem }, email)
    await close()
    if (result === 'unknown') {
      throw new ConfigError(`--email got ${JSON.stringify(email)}; it accepts the email address of a user.`)
    }
    process.stdout.write(`${words[result]}\n`)
  })
}

const words = {
  reset: 'The authenticator app is removed. The user sets up another at /second-factor, after signing in.',
  none: 'That user has no authenticator app: nothing was changed.',
} as const
