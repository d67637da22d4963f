import type { SignInOptions } from '../auth/sign-in.ts'
import { createTokenStore } from '../auth/token-store.ts'
import { createRemoteFetch } from '../client/remote.ts'
import { ConfigError, dataDirectory } from '../config/load.ts'
import type { Config } from '../config/settings.ts'
import { parseBaseUrl } from '../config/values.ts'
import { realSystem } from '../core/system.ts'
import { servedAddress } from './addresses.ts'

/** Runs `work` with the options for signing in at the configured address. Closes the connections afterwards. */
export async function withSignInOptions(
  config: Config,
  work: (options: SignInOptions) => Promise<void>,
): Promise<void> {
  const baseUrl = signInAddress(config)
  const remote = createRemoteFetch()
  const store = createTokenStore({ directory: dataDirectory().path, system: realSystem })
  try {
    await work({ baseUrl, store, system: realSystem, fetch: remote.fetch })
  } finally {
    await remote.close()
  }
}

/** Returns the address to sign in at: a deployed API, or `serve` on this machine. @throws ConfigError */
function signInAddress(config: Config): string {
  const { baseUrl, publicUrl } = config
  const served = servedAddress(config)
  const address = baseUrl ?? publicUrl ?? parseBaseUrl(served)
  if (address !== undefined) return address
  throw new ConfigError(
    `PAYMENTS_BASE_URL (--base-url) is required, because ${served} is not a loopback address. Set it to the address to sign in at.`,
  )
}
