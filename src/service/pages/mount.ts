import type { Hono } from 'hono'
import type { About } from '../../openapi/discovery.ts'
import type { Interactions } from '../oauth/interactions.ts'
import type { Dependencies } from '../request/pipeline.ts'
import { mountApprovalPages } from './approval/routes.ts'
import { mountCardPages } from './card/routes.ts'
import { mountCheckout } from './checkout/routes.ts'
import { mountClaims } from './connect/claim-routes.ts'
import { mountLinks } from './connect/link-routes.ts'
import { mountConnect } from './connect/routes.ts'
import { mountConnections } from './connections/routes.ts'
import { mountConsent } from './consent/routes.ts'
import { mountConsole } from './console/routes.ts'
import { mountDecisionPages } from './decide/routes.ts'
import { mountDocs } from './docs/routes.ts'
import { mountAssets } from './frame/assets.ts'
import { DeclinesByAddress } from './frame/declines-by-address.ts'
import type { PageDependencies } from './frame/dependencies.ts'
import { mountHome } from './home/routes.ts'
import { mountJoin } from './join/routes.ts'
import { mountRegister } from './register/routes.ts'
import { mountPaymentRequests } from './request/routes.ts'
import { mountShops } from './shops/routes.ts'
import { mountSignIn } from './sign-in/routes.ts'
import { mountVerify } from './verify/routes.ts'

interface PagesDependencies extends Dependencies, PageDependencies {
  /** The facts that the home page shows about the deployment. */
  about: About
  /** The authorization requests that wait for a person to allow or deny an application's access. */
  interactions: Interactions
}

/** Mounts all pages of the service. */
export function mountPages(app: Hono, dependencies: PagesDependencies): void {
  mountAssets(app)
  mountHome(app, dependencies)
  mountDocs(app, dependencies)
  // Checkout pages and payment request pages share one count of declined cards for each client address.
  const declines = new DeclinesByAddress(dependencies.system)
  mountCheckout(app, dependencies, declines)
  mountPaymentRequests(app, dependencies, declines)
  mountJoin(app, dependencies)
  mountConnect(app, dependencies)
  mountLinks(app, dependencies)
  mountClaims(app, dependencies)
  mountVerify(app, dependencies)
  mountSignIn(app, dependencies)
  mountConsent(app, dependencies)
  mountConnections(app, dependencies)
  mountRegister(app, dependencies)
  mountCardPages(app, dependencies)
  mountApprovalPages(app, dependencies)
  mountDecisionPages(app, dependencies)
  mountShops(app, dependencies)
  mountConsole(app, dependencies)
}
