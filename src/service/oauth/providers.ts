import type Provider from 'oidc-provider'
import type { ProviderDependencies } from './provider.ts'

/** How long signing keys are used before they are reloaded. The reload finds keys that other processes created. */
const keysReloadMs = 10 * 60_000

/**
 * Creates a function that returns the authorization server. If the signing keys have changed, the function first
 * creates a new server with the new keys. The server's code is loaded at the first call, so that startup is not
 * delayed.
 */
export function createProviders(dependencies: ProviderDependencies): () => Promise<Provider> {
  const { store, system } = dependencies
  let cached: { provider: Promise<Provider>; kids: string } | undefined
  let keysLoadedAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    const [{ createProvider }, { currentSigningKeys }] = await Promise.all([
      import('./provider.ts'),
      import('../tokens/signing-keys.ts'),
    ])
    if (cached !== undefined && system.elapsed() - keysLoadedAtMs < keysReloadMs) return cached.provider
    keysLoadedAtMs = system.elapsed()
    const keys = await currentSigningKeys(store)
    const kids = keys.map(({ kid }) => kid).join(' ')
    if (cached?.kids !== kids) cached = { kids, provider: createProvider(dependencies, keys) }
    return cached.provider
  }
}
