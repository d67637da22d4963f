import type { Context, Hono } from 'hono'
import { foreignName } from '../../../core/foreign-text.ts'
import { pageAt, pageNeeds } from '../../rules/page-needs.ts'
import {
  hasFormToken,
  ownFields,
  redirectTo,
  redirectToSignIn,
  refuseForeignForm,
  withFailurePage,
} from '../frame/answers.ts'
import { endSession, mayBeOwner, placeOf, signedInAt, startSession } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { oauthPageHeaders } from '../frame/oauth-headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { endedLinkPage, linkPage, signInPage } from './view.ts'

/** Mounts the sign-in and sign-out pages. */
export function mountSignIn(app: Hono, pages: PageDependencies): void {
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /sign-in', showSignIn)
  serve('POST /sign-in', takeSignIn)
  serve('GET /sign-in/once/:code', showLink)
  serve('POST /sign-in/once/:code', takeLink)
  serve('POST /sign-out', takeSignOut)
}

async function showSignIn(c: Context, pages: PageDependencies): Promise<Response> {
  const next = safeNext(c.req.query('next'))
  const signedIn = await signedInAt(c, pages)
  if (signedIn?.isProven) return redirectTo(c, next)
  return show(c, pages, { next, email: signedIn?.user.email ?? '', problem: null }, 200)
}

async function takeSignIn(c: Context, pages: PageDependencies): Promise<Response> {
  const sent = await ownFields(c, pages)
  const next = safeNext(sent?.get('next'))
  // Without this check, a form on another site could sign a visitor in to an attacker's account.
  if (sent === undefined) return refuseForeignForm(c, '/sign-in')
  const [email, password] = [(sent.get('email') ?? '').trim(), sent.get('password') ?? '']
  const asOwner = sent.get('as') === 'owner'
  if (asOwner && !mayBeOwner(c, pages)) return show(c, pages, { next, email, problem: problems.not_here }, 403)
  if (!asOwner && (email === '' || password === ''))
    return show(c, pages, { next, email, problem: problems.missing }, 422)
  const place = placeOf(c, pages)
  const result = asOwner ? await pages.signIn.asOwner(place) : await pages.signIn.byPassword(email, password, place)
  if (result === undefined) return show(c, pages, { next, email, problem: problems.no_owner }, 409)
  if (typeof result === 'string') {
    pages.log.info({ signIn: result }, 'a sign-in was refused')
    return show(c, pages, { next, email, problem: problems[result] }, statuses[result])
  }
  await startSession(c, pages, result)
  pages.log.info({ signIn: asOwner ? 'owner' : 'password' }, 'signed in')
  return redirectTo(c, next)
}

/**
 * Shows the page that a sign-in link opens, with the name of the user whom the link signs in. Opening the page does not
 * use up the link, so programs that preview links do no harm.
 */
async function showLink(c: Context, pages: PageDependencies): Promise<Response> {
  const next = safeNext(c.req.query('next'))
  const user = await pages.signIn.atLink(codeOf(c))
  if (user === undefined) return linkEnded(c, next)
  const name = foreignName(user.name, 'the owner')
  const page = linkPage(name, { action: c.req.path, next })
  return c.html(page, 200, oauthPageHeaders)
}

async function takeLink(c: Context, pages: PageDependencies): Promise<Response> {
  const sent = await ownFields(c, pages)
  if (sent === undefined) return refuseForeignForm(c, c.req.path)
  const next = safeNext(sent.get('next'))
  const begun = await pages.signIn.byLink(codeOf(c), placeOf(c, pages))
  if (begun === undefined) return linkEnded(c, next)
  await startSession(c, pages, begun)
  pages.log.info({ signIn: 'link' }, 'signed in')
  return redirectTo(c, next)
}

function linkEnded(c: Context, next: string) {
  return c.html(endedLinkPage(next), 410, oauthPageHeaders)
}

const codeOf = (c: Context) => c.req.param('code') ?? ''

async function takeSignOut(c: Context, pages: PageDependencies): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  const sent = await ownFields(c, pages)
  if (sent === undefined) return refuseForeignForm(c, '/connections')
  // After a double click, the second request finds no session and needs no form token.
  if (signedIn !== undefined && !hasFormToken(signedIn, 'sign out', sent)) return refuseForeignForm(c, '/connections')
  await endSession(c, pages)
  const next = sent.get('next')
  return next === null ? redirectTo(c, '/sign-in') : redirectToSignIn(c, safeNext(next))
}

const problems = {
  missing: 'Enter your email address and your password.',
  wrong: 'The email address or the password is wrong. Check both and try again.',
  too_many: 'Too many wrong passwords. Wait 15 minutes, then try again.',
  not_here: 'Signing in without a password works only on the machine that runs the sandbox. Use your password.',
  no_owner: 'This sandbox has no owner yet. Start it again, then sign in.',
} as const

const statuses = { wrong: 401, too_many: 429 } as const

interface PageState {
  next: string
  email: string
  problem: string | null
}

async function show(c: Context, pages: PageDependencies, state: PageState, status: 200 | 401 | 403 | 409 | 422 | 429) {
  const isLocal = mayBeOwner(c, pages)
  const isUnproven = (await signedInAt(c, pages))?.isProven === false
  // One click does not prove who the person is. If the page to open next always needs proof, that page would send the
  // person back here. So one-click sign-in is not offered.
  const isOffered = isLocal && !isUnproven && pageNeeds[pageAt(state.next) ?? 'GET /'] !== 'proven'
  const user = isOffered ? await pages.signIn.owner() : undefined
  const owner = user === undefined ? null : foreignName(user.name, 'the owner')
  return c.html(signInPage({ ...state, owner, isUnproven, isLocal }), status, oauthPageHeaders)
}

/**
 * Matches the addresses that may be opened after a sign-in, so that a crafted link cannot send a person to any other
 * address.
 */
const allowedNextPages =
  /^\/(?:connections|decisions|console(?:\/[\w-]{1,80}){0,6}(?:\?[\w=&%.+-]{1,600})?|decide\/dcn_[0-9a-f]{32}|cards\/[\w-]{43}|request\/\w{64,71}|approvals\/apr_[0-9a-f]{32}\/review|second-factor(?:\?next=%2Fverify%2Fmfc_[\w%.]{1,400})?|verify\/mfc_\w{1,200}(?:\?back=%2Fapprovals%2Fapr_[0-9a-f]{32}%2Freview)?|oauth\/consent\/[\w-]{1,64}|oauth\/device(?:\/[\w-]{1,64})?(?:\?user_code=[\w-]{1,32})?)$/

function safeNext(next: string | null | undefined): string {
  return typeof next === 'string' && allowedNextPages.test(next) ? next : '/console'
}
