import type { Context, Hono } from 'hono'
import { signedInAt } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { messagePage } from '../frame/form-page.ts'
import { isForm, isOwnForm } from '../frame/forms.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { refusalOf, visitorOf } from '../frame/link-answers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { type Claims, createClaims } from './claim.ts'
import { claimPage } from './claim-view.ts'
import { orRefusal, tokenOf } from './routes.ts'

interface ClaimDependencies extends PageDependencies {
  claims: Claims
}

/** The page at a payment's `claimLink`: who sends how much, what has become of it, and, in the sandbox, its claim. */
export function mountClaims(app: Hono, dependencies: PageDependencies): void {
  const pages: ClaimDependencies = { ...dependencies, claims: createClaims(dependencies) }
  const serve = pageRoutes(app, pages, orFailure)
  serve('GET /claim/:token', showPage)
  serve('POST /claim/:token', takeClaim, { refuse: (c) => refused(c, 400, 'The form is too long.') })
}

async function showPage(c: Context, pages: ClaimDependencies): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  const claim = await pages.claims.open(tokenOf(c), signedIn?.user)
  if (claim === undefined) return notFound(c)
  const visitor = visitorOf(c, pages, claim, signedIn)
  return c.html(claimPage(claim, visitor), 200, headers)
}

async function takeClaim(c: Context, pages: ClaimDependencies): Promise<Response> {
  if (!isOwnForm(c, pages.publicUrl())) return refused(c, 403, 'The answer did not come from this page.')
  const sent = new URLSearchParams(await c.req.text())
  if (!isForm(c) || sent.get('decision') !== 'claim') {
    return refused(c, 400, 'The form has to say that you claim the payment.')
  }
  const signedIn = await signedInAt(c, pages)
  const shown = await pages.claims.open(tokenOf(c), signedIn?.user)
  if (shown === undefined) return notFound(c)
  const refusal = refusalOf(c, pages, shown.answerer, { signedIn, sent, isYes: true })
  if (refusal !== undefined) return refused(c, 403, refusal)
  const claim = await pages.claims.take(tokenOf(c), sent.get('formToken') ?? '', signedIn?.user)
  if (claim === undefined) return notFound(c)
  pages.log.debug({ claim: claim.status }, 'answered')
  // The browser comes back to the page by GET: a reload repeats nothing.
  return c.body(null, 303, { ...headers, Location: c.req.path })
}

function notFound(c: Context) {
  const text = 'There is no payment at this address. Check the link, or ask the sender for it.'
  return c.html(messagePage('Not found', text), 404, headers)
}

function refused(c: Context, status: 400 | 403 | 409, text: string) {
  return c.html(messagePage('Not claimed', text, { href: c.req.path, text: 'Open the payment' }), status, headers)
}

const orFailure = orRefusal(refused)
