import { ConfigError } from '../config/load.ts'
import { realSystem } from '../core/system.ts'
import { resetSecondFactor } from '../service/operations/steps/reset-second-factor.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { openPersistent } from './embedded-service.ts'
import { explainErrors } from './explain.ts'

type ResetFlags = Flags & { email: string }

/** Removes a user's authenticator app in the configured database, even while other processes use it. */
export async function resetAuthenticator({ email, ...flags }: ResetFlags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('reset-second-factor', flags)
    if (config.baseUrl !== undefined) {
      throw new ConfigError(
        `PAYMENTS_BASE_URL (--base-url) got ${config.baseUrl}; reset-second-factor works on a database only. Run it on the machine of that service, with PAYMENTS_DATABASE_URL.`,
      )
    }
    const { store, close } = await openPersistent('reset-second-factor', config)
    const result = await resetSecondFactor({ store, system: realSystem }, email)
    await close()
    if (result === 'unknown') {
      throw new ConfigError(`--email got ${JSON.stringify(email)}; it accepts the email address of a user.`)
    }
    process.stdout.write(`${messages[result]}\n`)
  })
}

const messages = {
  reset: 'The authenticator app is removed. The user sets up another at /second-factor, after signing in.',
  none: 'That user has no authenticator app: nothing was changed.',
} as const
