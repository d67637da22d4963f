import { signInWithBrowser } from '../auth/browser-sign-in.ts'
import { signInWithDevice } from '../auth/device-sign-in.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { orExplainFailure } from './explain-failure.ts'
import { openBrowser } from './open-browser.ts'
import { withSignInOptions } from './sign-in-options.ts'

type LoginFlags = Flags & { device?: boolean }

/** Signs in at a payments API, and stores the login for the MCP server. */
export async function login(flags: LoginFlags): Promise<void> {
  await orExplainFailure(async () => {
    await withSignInOptions(commandConfig('login', flags), async (options) => {
      if (flags.device === true) await signInWithDevice(options, showCode)
      else await signInWithBrowser(options, showAddress)
      process.stdout.write(`You are signed in. The MCP server uses this login with PAYMENTS_BASE_URL=${options.baseUrl}
and without PAYMENTS_KEY; payments-mcp whoami --base-url ${options.baseUrl} shows whom it acts as.
`)
    })
  })
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
