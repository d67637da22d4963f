import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { hasFormToken, leadToSignIn, notFromHere, orFailure, ownFields, tooLong } from '../frame/answers.ts'
import { type SessionPages, signedInAt } from '../frame/browser-session.ts'
import { mostFormBytes } from '../frame/forms.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { notYoursPage } from '../frame/not-yours-page.ts'
import type { CardPage, CardPages } from './card-page.ts'
import { cardDetailsPage, cardPage } from './view.ts'
import { cardWords, detailsWords } from './words.ts'

interface CardRoutes extends SessionPages {
  cardPages: CardPages
}

/** The page that shows a person the number of a card, which the model doesn't see (docs/service.md#card-details). */
export function mountCardPages(app: Hono, pages: CardRoutes): void {
  const limit = bodyLimit({ maxSize: mostFormBytes, onError: tooLong })
  app.get('/cards/:token', (c) => orFailure(c, pages, () => openPage(c, pages)))
  app.post('/cards/:token', limit, (c) => orFailure(c, pages, () => showNumber(c, pages)))
}

async function openPage(c: Context, pages: CardRoutes): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  if (signedIn === undefined) return leadToSignIn(c, c.req.path)
  const page = await whenToken(c, (token) => pages.cardPages.open(token, signedIn.user))
  return page === undefined ? notFound(c, signedIn) : answer(c, pages, signedIn, page)
}

async function showNumber(c: Context, pages: CardRoutes): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  if (signedIn === undefined) return leadToSignIn(c, c.req.path)
  const sent = await ownFields(c, pages)
  if (sent === undefined || !hasFormToken(signedIn, purposeOf(c), sent)) return notFromHere(c, c.req.path)
  const shown = await whenToken(c, (token) => pages.cardPages.show(token, signedIn.user))
  if (shown === undefined) return notFound(c, signedIn)
  const { page, details } = shown
  if (details === null) return answer(c, pages, signedIn, page)
  pages.log.info({ cardId: page.card.id, userId: signedIn.user.id }, 'a person was shown the number of a card')
  // In the answer itself: what could be opened again by its address would be shown twice.
  return c.html(cardDetailsPage(cardWords(page), detailsWords(details), isSandbox(pages)), 200, headers)
}

function answer(c: Context, pages: CardRoutes, { formToken }: SignedIn, page: CardPage) {
  const form = { action: c.req.path, token: formToken(purposeOf(c)) }
  return c.html(cardPage(cardWords(page), form, isSandbox(pages)), page.state === 'ready' ? 200 : 410, headers)
}

function notFound(c: Context, signedIn: SignedIn) {
  const text = 'There is no card to show you at this address. Check the link, or ask your agent for a new one.'
  return c.html(notYoursPage(text, signedIn, c.req.path), 404, headers)
}

function purposeOf(c: Context): string {
  return `card page ${c.req.param('token')}`
}

function isSandbox({ environment }: SessionPages): boolean {
  return environment === 'sandbox'
}

async function whenToken<T>(c: Context, use: (token: string) => Promise<T | undefined>): Promise<T | undefined> {
  const token = c.req.param('token') ?? ''
  return /^[\w-]{43}$/.test(token) ? use(token) : undefined
}
