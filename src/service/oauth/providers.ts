import type Provider from 'oidc-provider'
import type { ProviderDependencies } from './provider.ts'

/** Looked at this often: a key that another process made comes into use with it. */
const keysForMs = 10 * 60_000

/**
 * Gives the authorization server, made anew when its signing keys change. It is loaded by the first request for it: no
 * start waits for it.
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
