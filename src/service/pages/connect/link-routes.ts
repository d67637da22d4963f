import type { Context, Hono } from 'hono'
import { mayActAsAnyone } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { redirect, tokenOf } from '../frame/link-routes.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { type ConnectLinks, createConnectLinks } from './link.ts'
import { linkPage } from './link-view.ts'
import { notFound, refusalPage, refuse, sentForm, withFailurePage } from './routes.ts'

interface LinkDependencies extends PageDependencies {
  connectLinks: ConnectLinks
}

/** Mounts the page at an invitation link's `url`, and the handler of the page's form. */
export function mountLinks(app: Hono, dependencies: PageDependencies): void {
  const pages: LinkDependencies = { ...dependencies, connectLinks: createConnectLinks(dependencies) }
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /connect/links/:token', showPage)
  serve('POST /connect/links/:token', takeAcceptance, { refuse })
}

async function showPage(c: Context, pages: LinkDependencies): Promise<Response> {
  const link = await pages.connectLinks.open(tokenOf(c), c.req.query('joined') ?? null)
  if (link === undefined) return notFound(c)
  const action = mayActAsAnyone(c, pages) ? c.req.path : null
  return c.html(linkPage(link, action), 200, headers)
}

async function takeAcceptance(c: Context, pages: LinkDependencies): Promise<Response> {
  if (!mayActAsAnyone(c, pages)) return refusalPage(c, 403, 'Sign in to your account to accept.')
  const sent = await sentForm(c, pages, ['accept'], 'The form lacks your decision to accept.')
  if (sent instanceof Response) return sent
  const formToken = sent.get('formToken') ?? ''
  const answered = await pages.connectLinks.join(tokenOf(c), formToken)
  if (answered === undefined) return notFound(c)
  pages.log.debug({ invitationLink: answered.state }, 'answered')
  // The form token in the URL makes the page show the result of this form.
  return redirect(c, `${c.req.path}?joined=${encodeURIComponent(formToken)}`)
}
