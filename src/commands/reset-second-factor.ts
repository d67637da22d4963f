import { ConfigError } from '../config/load.ts'
import { realSystem } from '../core/system.ts'
import { resetSecondFactor } from '../service/operations/steps/reset-second-factor.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { openPersistent } from './embedded-service.ts'
import { explainErrors } from './explain.ts'

type ResetFlags = Flags & { email: string }

/** Removes a user's authenticator app from the configured database. Other processes may be using the database. */
export async function resetAuthenticator({ email, ...flags }: ResetFlags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('reset-second-factor', flags)
    if (config.baseUrl !== undefined) {
      throw new ConfigError(
        `PAYMENTS_BASE_URL (--base-url) got ${config.baseUrl}; reset-second-factor needs direct access to the database. Run it on a machine of that service, with PAYMENTS_DATABASE_URL.`,
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
  reset: 'The authenticator app was removed. The user can sign in and set up another at /second-factor.',
  none: 'That user has no authenticator app, so nothing was changed.',
} as const
