import { resolve } from 'node:path'
import { type ApplicationProof, signInAsApplication } from '../auth/application-sign-in.ts'
import { signInWithBrowser } from '../auth/browser-sign-in.ts'
import { signInWithDevice } from '../auth/device-sign-in.ts'
import { ConfigError } from '../config/load.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { explainFailures } from './explain-failure.ts'
import { openBrowser } from './open-browser.ts'
import { withSignInOptions } from './sign-in-options.ts'

type LoginFlags = Flags & {
  device?: boolean
  clientCredentials?: boolean
  enterprise?: boolean
  clientId?: string
  proofFile?: string
  idp?: string
  idpClientId?: string
  idpProofFile?: string
  idTokenFile?: string
}

/** Signs in to a payments API, and stores the login for the MCP server. */
export async function login(flags: LoginFlags): Promise<void> {
  await explainFailures(async () => {
    await withSignInOptions(commandConfig('login', flags), async (options) => {
      if (flags.enterprise === true) await signInAsApplication(options, enterpriseOf(flags))
      else if (flags.clientCredentials === true) await signInAsApplication(options, applicationOf(flags))
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
    `login --client-credentials needs ${missing}. Give the client id of an application (create_application), and a file with its secret or private key.`,
  )
}

/**
 * Returns the application to sign in as, and the identity provider that vouches for the person.
 * @throws ConfigError if a flag is missing
 */
function enterpriseOf({
  clientId,
  proofFile,
  idp,
  idpClientId,
  idpProofFile,
  idTokenFile,
}: LoginFlags): ApplicationProof {
  const options = { clientId, proofFile, idp, idpClientId, idTokenFile }
  const flags = { '--client-id': clientId, '--proof-file': proofFile, '--idp': idp, '--idp-client-id': idpClientId }
  const [missing] = Object.entries({ ...flags, '--id-token-file': idTokenFile }).find(([, value]) => !value) ?? []
  if (missing !== undefined || !allGiven(options)) {
    throw new ConfigError(
      `login --enterprise needs ${missing}. Give the client id and secret from create_trusted_issuer, the address of the identity provider, this machine's client id at that provider, and a file with the person's ID token.`,
    )
  }
  return {
    clientId: options.clientId,
    proofFile: resolve(options.proofFile),
    company: {
      idp: options.idp,
      idpClientId: options.idpClientId,
      ...(idpProofFile === undefined ? {} : { idpProofFile: resolve(idpProofFile) }),
      idTokenFile: resolve(options.idTokenFile),
    },
  }
}

function allGiven<Name extends string>(options: Record<Name, string | undefined>): options is Record<Name, string> {
  return Object.values(options).every((value) => value !== undefined)
}

function showAddress(address: URL): void {
  process.stdout.write(`Open this address in a browser on this machine to sign in:\n\n  ${address.href}\n\n`)
  // If stdout is not a terminal, a script or a host runs this command, and no browser window should open.
  if (!process.stdout.isTTY) return
  openBrowser(address, () => process.stderr.write('No browser could be opened here: open the address yourself.\n'))
}

function showCode({ address, userCode }: { address: string; userCode: string }): void {
  process.stdout.write(`Open ${address} on any device and enter the code\n\n  ${userCode}\n\n`)
}
