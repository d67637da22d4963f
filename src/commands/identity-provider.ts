import { ConfigError } from '../config/load.ts'
import type { Logger } from '../config/log.ts'
import { type Config, names } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import { realSystem } from '../core/system.ts'
import type { Listener } from '../service/listen.ts'
import { allowsLocalAddresses } from '../service/request/webhook-addresses.ts'
import type { Store } from '../service/store/engine/store.ts'
import { servedAddress } from './addresses.ts'
import { listenOrExplain } from './process-lifecycle.ts'

/**
 * Refuses to run the identity provider if other machines could use it, because the provider asks for no password.
 * @throws ConfigError
 */
export function refuseIdentityProvider(config: Config): void {
  const { withIdp, environment, publicUrl = servedAddress(config) } = config
  if (!withIdp || allowsLocalAddresses(environment, publicUrl)) return
  const { variable, flag } = names('withIdp')
  throw new ConfigError(
    `${variable} (${flag}) got true in ${environment} at ${show(publicUrl)}; it accepts true only in a sandbox on a loopback address, because the identity provider lets anyone sign in without a password.`,
  )
}

/**
 * Starts the built-in identity provider if it is configured. It listens on the port after the service's port, and only
 * this machine can reach it.
 * @throws ConfigError
 */
export async function listenForSignIns(
  { port, withIdp }: Pick<Config, 'port' | 'withIdp'>,
  { store, publicUrl, log }: { store: Store; publicUrl: () => string; log: Logger },
): Promise<Listener | undefined> {
  if (!withIdp) return undefined
  const { createIdentityProvider } = await import('../service/idp/identity-provider.ts')
  let provider: ReturnType<typeof createIdentityProvider> | undefined
  const fetch = async (request: Request) => {
    provider ??= createIdentityProvider({
      store,
      system: realSystem,
      publicUrl: publicUrl(),
      issuer: listener.url,
      log,
    })
    return (await provider)(request)
  }
  const at = { host: '127.0.0.1', port: port === 0 ? 0 : (port + 1) % 65_536 }
  const { variable, flag } = names('port')
  const setting = `${variable} (${flag}), plus 1 for the identity provider,`
  const listener: Listener = await listenOrExplain(setting, { fetch, ...at, system: realSystem, log })
  return listener
}

/**
 * Returns a curl command that makes the party of `$PAYMENTS_KEY` trust the identity provider. The person with the email
 * address `email` can then act as the agent.
 */
export function trustCommand(
  issuer: string,
  { publicUrl, email, agentId }: { publicUrl: string; email: string | null; agentId: string | null | undefined },
): string {
  const agents = [{ claim: 'email', value: email ?? 'you@example.com', agentId: agentId ?? 'agt_…' }]
  const attributes = { name: 'My host', issuer, jwksUri: `${issuer}/jwks`, agents }
  const body = JSON.stringify({ data: { attributes } }).replaceAll("'", "'\\''")
  return `curl -s ${publicUrl}/trusted-issuers -H "Authorization: Bearer $PAYMENTS_KEY" -H 'Content-Type: application/json' -d '${body}'`
}
