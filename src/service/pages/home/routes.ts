import type { Context, Hono } from 'hono'
import { type HostName, hostNames } from '../../../core/host-setups.ts'
import { firstQuestion, shortDescription } from '../../../core/product.ts'
import { type About, titleIn } from '../../../openapi/discovery.ts'
import { movedClock } from '../../request/moved-clock.ts'
import { mayActAsAnyone } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { scriptedPageHeaders as headers } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { acceptsPage } from '../frame/unknown-address.ts'
import { homePage } from './view.ts'

interface HomeDependencies extends PageDependencies {
  about: About
}

/** Mounts the home page at `/`. A browser gets HTML; any other program gets JSON that contains links. */
export function mountHome(app: Hono, pages: HomeDependencies): void {
  pageRoutes(
    app,
    pages,
    withFailurePage,
  )('GET /', (c) => (acceptsPage(c) ? showPage(c, pages) : c.body(linksOf(pages), 200, jsonHeaders)))
}

const withFailurePage = failurePageWrapper({ page: 'the home page', headers })

const varied = { Vary: 'Accept' } as const
const jsonHeaders = { ...varied, 'Cache-Control': 'no-cache', 'Content-Type': 'application/json' } as const

async function showPage(c: Context, pages: HomeDependencies): Promise<Response> {
  const { environment, about, publicUrl, store } = pages
  // The result is not used: this read only checks the database. If the read fails, the visitor gets the same error as
  // on other pages.
  await movedClock(store)
  const hostId = c.req.query('host')
  const page = homePage({
    environment,
    version: about.version,
    mcpUrl: `${publicUrl()}/mcp`,
    // The command contains a path on this machine, so it is shown only to a visitor on this machine.
    start: mayActAsAnyone(c, pages) ? about.start : undefined,
    host: hostNames.find((name) => name === hostId) ?? firstHost,
  })
  return c.html(page, 200, { ...headers, ...varied })
}

const firstHost: HostName = 'claude-code'

/** Returns facts about the service and links to its pages as JSON. The JSON is indented, because people read it too. */
function linksOf({ environment, about, publicUrl }: HomeDependencies): string {
  const addressOf = (path: string) => `${publicUrl()}${path}`
  const body = {
    name: titleIn(environment),
    description: shortDescription,
    environment,
    version: about.version,
    links: {
      console: addressOf('/console'),
      mcp: addressOf('/mcp'),
      serverCard: addressOf('/mcp/server-card'),
      docs: addressOf('/docs'),
      openapi: addressOf('/openapi.json'),
      llms: addressOf('/llms.txt'),
      health: addressOf('/healthz'),
      signIn: addressOf('/sign-in'),
      decisions: addressOf('/decisions'),
      connections: addressOf('/connections'),
    },
    ask: firstQuestion,
  }
  return `${JSON.stringify(body, null, 2)}\n`
}
