import type { Context, Hono } from 'hono'
import { Failure } from '../../../core/errors.ts'
import { newId } from '../../../core/system.ts'
import { hasLeft } from '../../request/body.ts'
import { callerOf } from '../../request/client-address.ts'
import { failureOf, refusal } from '../../request/reply.ts'
import type { DeclinesByAddress } from '../frame/declines-by-address.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { messagePage } from '../frame/form-page.ts'
import { dataHeaders, frameHeaders, pageHeaders } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { type Checkout, type CheckoutSession, createCheckout } from './checkout.ts'
import { type CheckoutAction, checkoutAttributes, maxCheckoutBytes, parseCheckout } from './requests.ts'
import { cardFormPage, checkoutPage } from './view.ts'
import { checkoutWords } from './words.ts'

interface CheckoutDependencies extends PageDependencies {
  checkout: Checkout
  declines: DeclinesByAddress
}

/**
 * Mounts the payer's pages: the page at `checkoutUrl`, the page where the payer stops the payments, the card form, and
 * the routes that the scripts of these pages call. Anyone who has a checkout's client secret can pay. After the first
 * payment, the payer gets a second secret, with which the payer can stop the later payments. No cookies are used.
 */
export function mountCheckout(app: Hono, dependencies: PageDependencies, declines: DeclinesByAddress): void {
  const { environment } = dependencies
  const pages: CheckoutDependencies = { ...dependencies, checkout: createCheckout(dependencies), declines }
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /checkout/form', (c) => c.html(cardFormPage(environment === 'sandbox'), 200, frameHeaders))
  const limit = { maxBytes: maxCheckoutBytes, refuse: (c: Context) => refuse(c, pages, tooLong()) }
  for (const action of Object.keys(checkoutAttributes) as CheckoutAction[]) {
    serve(`POST /checkout/${action}`, (c) => answer(c, pages, action), limit)
  }
  serve('GET /checkout/manage/:manageToken', showManagePage)
  serve('GET /checkout/:subscriptionId/:pageToken', showPage)
  // A subscription's id is not a secret, so a URL that ends with the id shows no checkout. The answer does not even
  // reveal whether the subscription exists.
  serve('GET /checkout/:subscriptionId', notFound)
}

const withFailurePage = failurePageWrapper({ page: 'a checkout page', headers: pageHeaders })

async function showPage(c: Context, { checkout }: CheckoutDependencies): Promise<Response> {
  const opened = await checkout.open(c.req.param('subscriptionId') ?? '', c.req.param('pageToken') ?? '')
  if (opened === undefined) return notFound(c)
  const { session, clientSecret } = opened
  const words = checkoutWords(session, await checkout.now())
  return c.html(checkoutPage(words, { clientSecret }), 200, pageHeaders)
}

async function showManagePage(c: Context, { checkout }: CheckoutDependencies): Promise<Response> {
  const manageToken = c.req.param('manageToken') ?? ''
  const session = await checkout.manage(manageToken)
  if (session === undefined) return notFound(c)
  const words = checkoutWords(session, await checkout.now())
  return c.html(checkoutPage(words, { manageToken }), 200, pageHeaders)
}

function notFound(c: Context): Response | Promise<Response> {
  const text = 'There is no checkout at this address. Check the link, or ask the merchant for a new one.'
  return c.html(messagePage('Not found', text), 404, pageHeaders)
}

async function answer(c: Context, pages: CheckoutDependencies, action: CheckoutAction): Promise<Response> {
  try {
    const sent = { contentType: c.req.header('content-type'), body: await c.req.text(), address: callerOf(c)?.address }
    const attributes = await actions[action](pages, sent)
    pages.log.debug({ checkout: action, status: 200 }, 'answered')
    return c.json({ data: { type: 'checkoutSession', attributes } }, 200, dataHeaders)
  } catch (error) {
    return refuse(c, pages, error)
  }
}

const actions = {
  session: async (pages, { contentType, body }) => {
    const { clientSecret, manageToken } = parseCheckout('session', contentType, body)
    const secret = manageToken === undefined ? { clientSecret: clientSecret ?? '' } : { manageToken }
    return view(pages, await pages.checkout.session(secret))
  },
  pay: async (pages, { contentType, body, address }) => {
    const { clientSecret, payerKey, ...card } = parseCheckout('pay', contentType, body)
    pages.declines.requireFew(address)
    const { session, pausedSubscriptionId, ...outcome } = await pages.checkout.pay(clientSecret, card, payerKey)
    if (outcome.result === 'declined') warnOfDeclines(pages, address, pausedSubscriptionId)
    return { ...outcome, ...(await view(pages, session)) }
  },
  stop: async (pages, { contentType, body }) => {
    const { manageToken } = parseCheckout('stop', contentType, body)
    return view(pages, await pages.checkout.stop(manageToken))
  },
} as const satisfies Record<
  CheckoutAction,
  (
    pages: CheckoutDependencies,
    sent: { contentType: string | undefined; body: string; address: string | undefined },
  ) => Promise<object>
>

/**
 * Counts a declined card for the client address. Logs a warning if the address or the checkout has now reached its
 * limit of declined cards, because somebody may be testing stolen cards.
 */
function warnOfDeclines(
  { declines, log }: CheckoutDependencies,
  address: string | undefined,
  subscriptionId: string | null,
) {
  if (subscriptionId !== null) log.warn({ subscriptionId, address }, 'the checkout is paused: too many declined cards')
  if (declines.count(address)) log.warn({ address }, 'the address is paused: too many declined cards')
}

/** Returns the data of a checkout, with the text that the page and the card form show. */
async function view({ checkout }: CheckoutDependencies, session: CheckoutSession) {
  return { ...session, words: checkoutWords(session, await checkout.now()) }
}

function refuse(c: Context, { system, log }: CheckoutDependencies, error: unknown): Response {
  const supportId = newId('req', system, system.now())
  const failure = failureOf(error)
  const { status, body, headers } = refusal(failure, supportId)
  if (error !== failure) {
    if (hasLeft(c.req.raw)) log.info({ supportId }, 'a client left before its request was read')
    else log.error({ supportId, err: error }, 'a checkout request failed')
  }
  return new Response(body, { status, headers: { ...headers, ...dataHeaders } })
}

function tooLong(): Failure {
  const detail = `The body must be at most ${maxCheckoutBytes} bytes long.`
  return new Failure('invalid_value', { detail, source: { pointer: '' } })
}
