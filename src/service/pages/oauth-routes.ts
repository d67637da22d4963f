import type { Hono } from 'hono'
import { type ConnectionsPages, mountConnections } from './connections/routes.ts'
import { type ConsentPages, mountConsent } from './consent/routes.ts'
import { createAssets } from './frame/assets.ts'
import { mountSignIn } from './sign-in/routes.ts'

interface OAuthPages extends ConsentPages, ConnectionsPages {}

/** The pages of signing in, of connecting an application, and of what is connected. */
export function mountOAuthPages(app: Hono, pages: OAuthPages): void {
  const asset = createAssets()
  app.get('/oauth/style.css', () => asset('oauth.css'))
  mountSignIn(app, pages)
  mountConsent(app, pages)
  mountConnections(app, pages)
}
