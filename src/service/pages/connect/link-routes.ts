import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { isForm, isOwnForm, mostFormBytes } from '../frame/forms.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import type { ConnectLinks, OpenedLink } from './link.ts'
import { linkPage } from './link-view.ts'
import { type ConnectGrounds, mayAnswer, notFound, orFailure, refused } from './routes.ts'

interface LinkPages extends ConnectGrounds {
  connectLinks: ConnectLinks
}

/** The page at an invitation link's `url`, and the acceptance that its form sends. */
export function mountLinks(app: Hono, pages: LinkPages): void {
  app.get('/connect/links/:token', (c) => orFailure(c, pages, () => showPage(c, pages)))
  const limit = bodyLimit({ maxSize: mostFormBytes, onError: (c) => refused(c, 400, 'The form is too long.') })
  app.post('/connect/links/:token', limit, (c) => orFailure(c, pages, () => takeAcceptance(c, pages)))
}

async function showPage(c: Context, { connectLinks, environment }: LinkPages): Promise<Response> {
  const link = await whenToken(c, (token) => connectLinks.open(token, c.req.query('joined') ?? null))
  if (link === undefined) return notFound(c)
  const action = mayAnswer(c, environment) ? c.req.path : null
  return c.html(linkPage(link, action, environment === 'sandbox'), 200, headers)
}

async function takeAcceptance(c: Context, { connectLinks, environment, publicUrl, log }: LinkPages): Promise<Response> {
  if (!mayAnswer(c, environment)) return refused(c, 403, 'Sign in to your account to accept.')
  if (!isOwnForm(c, publicUrl())) return refused(c, 403, 'The answer did not come from this page.')
  const sent = new URLSearchParams(await c.req.text())
  if (!isForm(c) || sent.get('decision') !== 'accept') {
    return refused(c, 400, 'The form has to say that you accept.')
  }
  const formToken = sent.get('formToken') ?? ''
  const answered = await whenToken(c, (token) => connectLinks.join(token, formToken))
  if (answered === undefined) return notFound(c)
  log.debug({ invitationLink: answered.state }, 'answered')
  // To the page by GET: a reload repeats nothing. It shows what became of this form.
  return c.body(null, 303, { ...headers, Location: `${c.req.path}?joined=${encodeURIComponent(formToken)}` })
}

function whenToken(c: Context, use: (token: string) => Promise<OpenedLink | undefined>) {
  const token = c.req.param('token') ?? ''
  return /^[\w-]{43}$/.test(token) ? use(token) : undefined
}
