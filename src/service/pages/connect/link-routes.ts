import type { Context, Hono } from 'hono'
import { mayBeAnybody } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { isForm, isOwnForm } from '../frame/forms.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { type ConnectLinks, createConnectLinks } from './link.ts'
import { linkPage } from './link-view.ts'
import { notFound, orFailure, refused, tokenOf } from './routes.ts'

interface LinkDependencies extends PageDependencies {
  connectLinks: ConnectLinks
}

/** The page at an invitation link's `url`, and the acceptance that its form sends. */
export function mountLinks(app: Hono, dependencies: PageDependencies): void {
  const pages: LinkDependencies = { ...dependencies, connectLinks: createConnectLinks(dependencies) }
  const serve = pageRoutes(app, pages, orFailure)
  serve('GET /connect/links/:token', showPage)
  serve('POST /connect/links/:token', takeAcceptance, { refuse: (c) => refused(c, 400, 'The form is too long.') })
}

async function showPage(c: Context, pages: LinkDependencies): Promise<Response> {
  const link = await pages.connectLinks.open(tokenOf(c), c.req.query('joined') ?? null)
  if (link === undefined) return notFound(c)
  const action = mayBeAnybody(c, pages) ? c.req.path : null
  return c.html(linkPage(link, action), 200, headers)
}

async function takeAcceptance(c: Context, pages: LinkDependencies): Promise<Response> {
  if (!mayBeAnybody(c, pages)) return refused(c, 403, 'Sign in to your account to accept.')
  if (!isOwnForm(c, pages.publicUrl())) return refused(c, 403, 'The answer did not come from this page.')
  const sent = new URLSearchParams(await c.req.text())
  if (!isForm(c) || sent.get('decision') !== 'accept') {
    return refused(c, 400, 'The form has to say that you accept.')
  }
  const formToken = sent.get('formToken') ?? ''
  const answered = await pages.connectLinks.join(tokenOf(c), formToken)
  if (answered === undefined) return notFound(c)
  pages.log.debug({ invitationLink: answered.state }, 'answered')
  // The browser comes back to the page by GET, which shows what became of this form: a reload repeats nothing.
  return c.body(null, 303, { ...headers, Location: `${c.req.path}?joined=${encodeURIComponent(formToken)}` })
}
