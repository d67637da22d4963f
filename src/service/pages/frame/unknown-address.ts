import type { Context } from 'hono'
import { html } from 'hono/html'
import { withBar } from './bar.ts'
import { signedInAt } from './browser-session.ts'
import type { PageDependencies } from './dependencies.ts'
import { failurePageWrapper } from './failure.ts'
import { formPage } from './form-page.ts'
import { formPageHeaders } from './headers.ts'

const headers = { ...formPageHeaders, Vary: 'Accept' } as const

/**
 * Returns whether the client accepts an HTML page. Browsers list `text/html` in their `Accept` header; curl and most
 * other programs do not.
 */
export function acceptsPage(c: Context): boolean {
  return /\btext\/html\b/i.test(c.req.header('accept') ?? '')
}

/**
 * Returns whether the request looks like a person opening the address in a browser, by typing it or by following a
 * link.
 */
export function isBrowsing(c: Context): boolean {
  return c.req.method === 'GET' && c.req.header('authorization') === undefined && acceptsPage(c)
}

/** Responds to an unknown address with a 404 page that links to existing pages. */
export function showUnknownAddress(c: Context, pages: PageDependencies): Promise<Response> {
  return withFailurePage(c, pages, async () => {
    const response = await c.html(unknownPage, 404, headers)
    const signedIn = await signedInAt(c, pages)
    return signedIn === undefined ? response : withBar(response, pages, { signedIn, path: c.req.path })
  })
}

const withFailurePage = failurePageWrapper({ page: 'the page for unknown addresses', headers })

const unknownPage = formPage({
  title: 'Not found',
  main: html`<h1>Not found</h1>
<p>There is no page at this address. Check the link, or open one of these pages:</p>
<ul>
<li><a href="/">Home</a>: how to connect an agent</li>
<li><a href="/console">Console</a>: your agents’ calls and your money</li>
<li><a href="/decisions">Decisions</a>: approve or deny what your agents ask for</li>
<li><a href="/docs">API reference</a></li>
</ul>`,
})
