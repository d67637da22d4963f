import type { Context, Hono } from 'hono'
import { type HostName, hostNames } from '../../../core/host-setups.ts'
import { firstQuestion, shortDescription } from '../../../core/product.ts'
import { type About, titleIn } from '../../../openapi/discovery.ts'
import { movedClock } from '../../request/moved-clock.ts'
import { mayBeAnybody } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failingAs } from '../frame/failure.ts'
import { scriptedPageHeaders as headers } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { homePage } from './view.ts'

interface HomeDependencies extends PageDependencies {
  about: About
}

/** What is at the address itself: a page for a person, and its links for a program. */
export function mountHome(app: Hono, pages: HomeDependencies): void {
  pageRoutes(
    app,
    pages,
    orFailure,
  )('GET /', (c) => (wantsPage(c) ? showPage(c, pages) : c.body(linksOf(pages), 200, jsonHeaders)))
}

const orFailure = failingAs({ page: 'the page at the address itself', headers })

const varied = { Vary: 'Accept' } as const
const jsonHeaders = { ...varied, 'Cache-Control': 'no-cache', 'Content-Type': 'application/json' } as const

/** Browsers name HTML; curl and most programs do not. */
function wantsPage(c: Context): boolean {
  return /\btext\/html\b/i.test(c.req.header('accept') ?? '')
}

async function showPage(c: Context, pages: HomeDependencies): Promise<Response> {
  const { environment, about, publicUrl, store } = pages
  // It runs if its database answers.
  await movedClock(store)
  const asked = c.req.query('host')
  const page = homePage({
    environment,
    version: about.version,
    mcpUrl: `${publicUrl()}/mcp`,
    // The path of a folder of this machine is for whoever is at it.
    start: mayBeAnybody(c, pages) ? about.start : undefined,
    host: hostNames.find((name) => name === asked) ?? firstHost,
  })
  return c.html(page, 200, { ...headers, ...varied })
}

const firstHost: HostName = 'claude-code'

/** In lines, for a person reads it as often as a program. */
function linksOf({ environment, about, publicUrl }: HomeDependencies): string {
  const at = (path: string) => `${publicUrl()}${path}`
  const told = {
    name: titleIn(environment),
    description: shortDescription,
    environment,
    version: about.version,
    links: {
      console: at('/console'),
      mcp: at('/mcp'),
      serverCard: at('/mcp/server-card'),
      docs: at('/docs'),
      openapi: at('/openapi.json'),
      llms: at('/llms.txt'),
      health: at('/healthz'),
      signIn: at('/sign-in'),
      decisions: at('/decisions'),
      connections: at('/connections'),
    },
    ask: firstQuestion,
  }
  return `${JSON.stringify(told, null, 2)}\n`
}
