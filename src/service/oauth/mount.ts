import type { Hono } from 'hono'
import type { Config } from '../../config/settings.ts'
import type { Dependencies } from '../request/pipeline.ts'
import { createClientLimits } from './clients.ts'
import { mountEndpoints } from './endpoints.ts'
import { createInteractions, type Interactions } from './interactions.ts'
import type { DevicePages } from './provider.ts'
import { createProviders } from './providers.ts'

/** The dependencies of the authorization server: the dependencies of every request, and the two below. */
export interface OAuthDependencies extends Dependencies {
  /** Fetches applications' metadata documents and identity providers' keys, from public addresses only. */
  publicFetch: typeof globalThis.fetch
  clientMetadata: Config['clientMetadata']
}

/**
 * Mounts the authorization server. Returns an object through which the consent page reads and decides pending
 * authorization requests.
 */
export function mountOAuth(app: Hono, dependencies: OAuthDependencies & { devicePages: DevicePages }): Interactions {
  const { publicUrl, publicFetch: fetch } = dependencies
  const clientLimits = createClientLimits(dependencies)
  const providers = createProviders({ ...dependencies, clientLimits, fetch })
  mountEndpoints(app, { ...dependencies, providers, clientLimits })
  return createInteractions(providers, publicUrl)
}
