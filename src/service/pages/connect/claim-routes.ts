import type { Context, Hono } from 'hono'
import { signedInAt } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { refusalOf, visitorOf } from '../frame/link-answers.ts'
import { linkRoutes, redirect, tokenOf } from '../frame/link-routes.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { type Claims, createClaims } from './claim.ts'
import { claimPage } from './claim-view.ts'
import { orRefusal } from './routes.ts'

interface ClaimDependencies extends PageDependencies {
  claims: Claims
}

const {
  notFound,
  refused: refusalPage,
  refuse,
  sentForm,
} = linkRoutes({
  missing: 'There is no payment at this address. Check the link, or ask the sender for the correct link.',
  refusal: 'Not claimed',
  again: 'Open the payment',
})

const withFailurePage = orRefusal(refusalPage)

/** Mounts the page at a payment's `claimLink`, and the handler of the page's form. */
export function mountClaims(app: Hono, dependencies: PageDependencies): void {
  const pages: ClaimDependencies = { ...dependencies, claims: createClaims(dependencies) }
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /claim/:token', showPage)
  serve('POST /claim/:token', takeClaim, { refuse })
}

async function showPage(c: Context, pages: ClaimDependencies): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  const claim = await pages.claims.open(tokenOf(c), signedIn?.user)
  if (claim === undefined) return notFound(c)
  const visitor = visitorOf(c, pages, claim, signedIn)
  return c.html(claimPage(claim, visitor), 200, headers)
}

async function takeClaim(c: Context, pages: ClaimDependencies): Promise<Response> {
  const sent = await sentForm(c, pages, ['claim'], 'The form lacks your decision to claim the payment.')
  if (sent instanceof Response) return sent
  const signedIn = await signedInAt(c, pages)
  const openClaim = await pages.claims.open(tokenOf(c), signedIn?.user)
  if (openClaim === undefined) return notFound(c)
  const refusal = refusalOf(c, pages, openClaim.answerer, { signedIn, sent, isYes: true })
  if (refusal !== undefined) return refusalPage(c, 403, refusal)
  const claim = await pages.claims.take(tokenOf(c), sent.get('formToken') ?? '', signedIn?.user)
  if (claim === undefined) return notFound(c)
  pages.log.debug({ claim: claim.status }, 'answered')
  return redirect(c)
}
