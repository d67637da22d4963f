import type { Hono } from 'hono'
import type { Config } from '../../config/settings.ts'
import type { Dependencies } from '../request/pipeline.ts'
import { createClientLimits } from './clients.ts'
import { mountEndpoints } from './endpoints.ts'
import { createInteractions, type Interactions } from './interactions.ts'
import type { DevicePages } from './provider.ts'
import { createProviders } from './providers.ts'

/** What the authorization server needs besides what every request does. */
export interface OAuthDependencies extends Dependencies {
  /** Fetches what applications describe themselves by, which lies anywhere. */
  publicFetch: typeof globalThis.fetch
  clientMetadata: Config['clientMetadata']
}

/** The authorization server. It leads people to the pages that answer the interactions it gives. */
export function mountOAuth(app: Hono, dependencies: OAuthDependencies & { devicePages: DevicePages }): Interactions {
  const { store, system, publicUrl, log, devicePages, publicFetch: fetch, clientMetadata } = dependencies
  const clientLimits = createClientLimits(dependencies)
  const providers = createProviders({ store, system, publicUrl, clientLimits, devicePages, fetch, clientMetadata, log })
  mountEndpoints(app, { ...dependencies, providers, clientLimits })
  return createInteractions(providers, publicUrl)
}
