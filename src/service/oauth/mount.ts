import type { Hono } from 'hono'
import type { Config } from '../../config/settings.ts'
import { devicePages } from '../pages/consent/device-view.ts'
import { mountOAuthPages } from '../pages/oauth-routes.ts'
import type { Dependencies } from '../request/pipeline.ts'
import { createClientLimits } from './clients.ts'
import { createConnections } from './connections.ts'
import { createConsent } from './consent.ts'
import { mountEndpoints } from './endpoints.ts'
import { createInteractions } from './interactions.ts'
import { createProviders } from './providers.ts'
import type { SignIn } from './sign-in.ts'

/** What the authorization server needs besides what every request does. */
export interface OAuthDependencies extends Dependencies {
  signIn: SignIn
  /** Fetches what applications describe themselves by, which lies anywhere. */
  publicFetch: typeof globalThis.fetch
  clientMetadata: Config['clientMetadata']
}

/** The authorization server with the pages that people see of it. */
export function mountOAuth(app: Hono, dependencies: OAuthDependencies): void {
  const { store, system, publicUrl, signIn, log, publicFetch: fetch, clientMetadata } = dependencies
  const clientLimits = createClientLimits(store, system)
  const providers = createProviders({ store, system, publicUrl, clientLimits, devicePages, fetch, clientMetadata, log })
  mountEndpoints(app, { ...dependencies, providers, clientLimits })
  mountOAuthPages(app, {
    ...dependencies,
    signIn,
    consent: createConsent(store, system),
    connections: createConnections(store, system),
    interactions: createInteractions(providers, publicUrl),
  })
}
