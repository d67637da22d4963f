import { signOut } from '../auth/sign-out.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { explainFailures } from './explain-failure.ts'
import { withSignInOptions } from './sign-in-options.ts'

/** Signs out of a payments API. */
export async function logout(flags: Flags): Promise<void> {
  await explainFailures(async () => {
    await withSignInOptions(commandConfig('logout', flags), async (options) => {
      const ended = await signOut(options)
      if (ended.kind === 'none') process.stdout.write(`Nobody was signed in at ${options.baseUrl}.\n`)
      else process.stdout.write(`You are signed out of ${options.baseUrl}.\n`)
      if (ended.kind !== 'forgotten') return
      process.stderr.write(
        `payments-mcp: The login was deleted from this machine, but not revoked: ${ended.reason} Revoke it at the payments API.\n`,
      )
      process.exitCode = 1
    })
  })
}
