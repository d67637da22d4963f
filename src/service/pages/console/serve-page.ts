import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { SignedIn } from '../../oauth/sign-in.ts'
import type { Dependencies } from '../../request/pipeline.ts'
import type { PageRoute } from '../../rules/page-needs.ts'
import { accountOf, signOutForm } from '../frame/account.ts'
import type { Show } from '../frame/answers.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { consoleHeaders } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { consolePage } from './console-page.ts'

/** The dependencies of all parts of the console. */
export interface ConsoleDependencies extends Dependencies, PageDependencies {}

export const withFailurePage = failurePageWrapper({ page: 'a console page', headers: consoleHeaders })

/** The route of a console page, such as `/console/money/wallets/:walletId`. */
export type ConsolePath = Extract<PageRoute, `GET /console${string}`> extends `GET ${infer Path}` ? Path : never

/** Serves a console page to signed-in users. Anyone else must sign in first and then returns to the page. */
export function servePage(
  app: Hono,
  path: ConsolePath,
  pages: ConsoleDependencies,
  show: Show<ConsoleDependencies>,
): void {
  // PostgreSQL rejects a query with a NUL character, so an address with %00 gets a 404 before any query runs.
  const orNothing: Show<ConsoleDependencies> = (c, _, signedIn) =>
    pathOf(c).includes('%00')
      ? showNotFound(c, signedIn, 'There is nothing at this address.')
      : show(c, pages, signedIn)
  pageRoutes(app, pages, withFailurePage)(`GET ${path}`, orNothing, { back: pathOf })
}

export const noSuchRun = 'Run not found. Runs are deleted after 30 days, or when the sandbox is reset or restored.'

/**
 * Responds with a 404 page, for an address that does not exist or content that the person must not see. The link may be
 * meant for a different user, so the page has a button to sign in as a different user.
 * @param text A sentence that states what was not found.
 */
export function showNotFound(c: Context, signedIn: SignedIn, text: string) {
  const main = html`<h1>Not found</h1>
<p>${text}</p>
<p><a href="/console">All runs</a></p>
${signOutForm(accountOf(signedIn).signOutToken, 'Sign in as a different user', c.req.path)}`
  return c.html(consolePage({ title: 'Not found', main }), 404, consoleHeaders)
}

function pathOf(c: Context): string {
  const { pathname, search } = new URL(c.req.url)
  return `${pathname}${search}`
}
