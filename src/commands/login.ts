import { resolve } from 'node:path'
import { type ApplicationProof, signInAsApplication } from '../auth/application-sign-in.ts'
import { signInWithBrowser } from '../auth/browser-sign-in.ts'
import { signInWithDevice } from '../auth/device-sign-in.ts'
import { ConfigError } from '../config/load.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { orExplainFailure } from './explain-failure.ts'
import { openBrowser } from './open-browser.ts'
import { withSignInOptions } from './sign-in-options.ts'

type LoginFlags = Flags & { device?: boolean; clientCredentials?: boolean; clientId?: string; proofFile?: string }

/** Signs in at a payments API, and stores the login for the MCP server. */
export async function login(flags: LoginFlags): Promise<void> {
  await orExplainFailure(async () => {
    await withSignInOptions(commandConfig('login', flags), async (options) => {
      if (flags.clientCredentials === true) await signInAsApplication(options, applicationOf(flags))
      else if (flags.device === true) await signInWithDevice(options, showCode)
      else await signInWithBrowser(options, showAddress)
      process.stdout.write(`You are signed in. The MCP server uses this login with PAYMENTS_BASE_URL=${options.baseUrl}
and without PAYMENTS_KEY; payments-mcp whoami --base-url ${options.baseUrl} shows whom it acts as.
`)
    })
  })
}

/** Returns the application to sign in as. @throws ConfigError if a flag is missing */
function applicationOf({ clientId, proofFile }: LoginFlags): ApplicationProof {
  if (clientId !== undefined && proofFile !== undefined) return { clientId, proofFile: resolve(proofFile) }
  const missing = clientId === undefined ? '--client-id' : '--proof-file'
  throw new ConfigError(
    `login --client-credentials got no ${missing}; it accepts the client id of an application (create_application), and a file with its secret or private key.`,
  )
}

function showAddress(address: URL): void {
  process.stdout.write(`Open this address in a browser on this machine to sign in:\n\n  ${address.href}\n\n`)
  // If a script or a host runs this, nobody expects a window.
  if (!process.stdout.isTTY) return
  openBrowser(address, () => process.stderr.write('No browser could be opened here: open the address yourself.\n'))
}

function showCode({ address, userCode }: { address: string; userCode: string }): void {
  process.stdout.write(`Open ${address} on any device and enter the code\n\n  ${userCode}\n\n`)
}
