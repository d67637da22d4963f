import type Provider from 'oidc-provider'
import type { ProviderDependencies } from './provider.ts'

/** How often signing keys are reloaded, which picks up keys created by other processes. */
const keysForMs = 10 * 60_000

/**
 * Returns a function that returns the authorization server, and recreates it when its signing keys change. The first
 * request loads it, so that it does not delay startup.
 */
export function createProviders(dependencies: ProviderDependencies): () => Promise<Provider> {
  const { store, system } = dependencies
  let made: { provider: Promise<Provider>; kids: string } | undefined
  let lookedElapsedMs = Number.NEGATIVE_INFINITY
  return async () => {
    const [{ createProvider }, { currentSigningKeys }] = await Promise.all([
      import('./provider.ts'),
      import('../tokens/signing-keys.ts'),
    ])
    if (made !== undefined && system.elapsed() - lookedElapsedMs < keysForMs) return made.provider
    lookedElapsedMs = system.elapsed()
    const keys = await currentSigningKeys(store)
    const kids = keys.map(({ kid }) => kid).join(' ')
    if (made?.kids !== kids) made = { kids, provider: createProvider(dependencies, keys) }
    return made.provider
  }
}
