import type { Context, Hono } from 'hono'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { notYoursPage } from '../frame/account.ts'
import { ownForm, type Show, type Take, withFailurePage } from '../frame/answers.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { type CardPage, type CardPages, createCardPages } from './card-page.ts'
import { cardDetailsPage, cardPage } from './view.ts'
import { cardWords, detailsWords } from './words.ts'

interface CardDependencies extends PageDependencies {
  cardPages: CardPages
}

/** Mounts the page that shows a card's number to a person but not to the model (docs/service.md#card-details). */
export function mountCardPages(app: Hono, dependencies: PageDependencies): void {
  const pages: CardDependencies = { ...dependencies, cardPages: createCardPages(dependencies) }
  const takeForm = ownForm(purposeOf, showNumber)
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /cards/:token', openPage)
  serve('POST /cards/:token', takeForm)
}

const openPage: Show<CardDependencies> = async (c, pages, signedIn) => {
  const page = await withToken(c, (token) => pages.cardPages.open(token, signedIn.user))
  return page === undefined ? notFound(c, signedIn) : answer(c, signedIn, page)
}

const showNumber: Take<CardDependencies> = async (c, pages, signedIn) => {
  const content = await withToken(c, (token) => pages.cardPages.show(token, signedIn.user))
  if (content === undefined) return notFound(c, signedIn)
  const { page, details } = content
  if (details === null) return answer(c, signedIn, page)
  pages.log.info({ cardId: page.card.id, userId: signedIn.user.id }, 'a card number was shown to a person')
  // The response to the form contains the number. A separate page with the number could be opened more than once.
  return c.html(cardDetailsPage(cardWords(page), detailsWords(details)), 200, headers)
}

function answer(c: Context, { formToken }: SignedIn, page: CardPage) {
  const form = { action: c.req.path, token: formToken(purposeOf(c)) }
  return c.html(cardPage(cardWords(page), form), page.state === 'ready' ? 200 : 410, headers)
}

function notFound(c: Context, signedIn: SignedIn) {
  const text = 'There is no card to show you at this address. Check the link, or ask your agent for a new link.'
  return c.html(notYoursPage(text, signedIn, c.req.path), 404, headers)
}

function purposeOf(c: Context): string {
  return `card page ${c.req.param('token')}`
}

async function withToken<T>(c: Context, use: (token: string) => Promise<T | undefined>): Promise<T | undefined> {
  const token = c.req.param('token') ?? ''
  return /^[\w-]{43}$/.test(token) ? use(token) : undefined
}
