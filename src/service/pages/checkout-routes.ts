import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { Failure } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { Environment } from '../../operation.ts'
import { newId, type System } from '../../system.ts'
import type { Checkout, CheckoutSession } from '../checkout.ts'
import { refusal } from '../reply.ts'
import { hasLeft } from '../request-body.ts'
import { StoreBusyError } from '../store/store.ts'
import { checkoutPage, formPage, messagePage } from './checkout-page.ts'
import { type CheckoutAction, checkoutAttributes, mostCheckoutBytes, parseCheckout } from './checkout-requests.ts'
import { checkoutWords } from './checkout-words.ts'
import { checkoutAssets, createAssets } from './page-assets.ts'
import { failingAs } from './page-failure.ts'
import { dataHeaders, frameHeaders, pageHeaders } from './page-headers.ts'

interface CheckoutPages {
  checkout: Checkout
  /** The service's time. */
  now: () => Promise<number>
  environment: Environment
  system: System
  log: Logger
}

/**
 * The payer's side: the page at `checkoutUrl`, the library that other pages embed the card form with, the form itself,
 * and what their scripts ask for. Whoever holds a checkout's client secret is its payer; there are no cookies.
 */
export function mountCheckout(app: Hono, pages: CheckoutPages): void {
  const sandbox = pages.environment === 'sandbox'
  const asset = createAssets()
  for (const name of checkoutAssets) app.get(`/checkout/${name}`, () => asset(name))
  app.get('/checkout/form', (c) => c.html(formPage(sandbox), 200, frameHeaders))
  const limit = bodyLimit({ maxSize: mostCheckoutBytes, onError: (c) => refuse(c, pages, tooLong()) })
  for (const action of Object.keys(checkoutAttributes) as CheckoutAction[]) {
    app.post(`/checkout/${action}`, limit, (c) => answer(c, pages, action))
  }
  app.get('/checkout/:subscriptionId', (c) => orFailure(c, pages, () => showPage(c, pages)))
}

const orFailure = failingAs({ page: 'a checkout page', message: messagePage, headers: pageHeaders })

async function showPage(c: Context, { checkout, now, environment }: CheckoutPages): Promise<Response> {
  const id = c.req.param('subscriptionId') ?? ''
  const opened = /^sub_[0-9a-f]{32}$/.test(id) ? await checkout.open(id) : undefined
  if (opened === undefined || opened.clientSecret === null) {
    const text = 'There is no checkout at this address. Check the link, or ask the merchant for a new one.'
    return c.html(messagePage('Not found', text), 404, pageHeaders)
  }
  const words = checkoutWords(opened.session, await now())
  return c.html(checkoutPage(words, opened.clientSecret, environment === 'sandbox'), 200, pageHeaders)
}

async function answer(c: Context, pages: CheckoutPages, action: CheckoutAction): Promise<Response> {
  try {
    const attributes = await actions[action](pages, c.req.header('content-type'), await c.req.text())
    pages.log.debug({ checkout: action, status: 200 }, 'answered')
    return c.json({ data: { type: 'checkoutSession', attributes } }, 200, dataHeaders)
  } catch (error) {
    return refuse(c, pages, error)
  }
}

const actions = {
  session: async (pages, contentType, body) => {
    const { clientSecret } = parseCheckout('session', contentType, body)
    return view(pages, await pages.checkout.session(clientSecret))
  },
  pay: async (pages, contentType, body) => {
    const { clientSecret, ...card } = parseCheckout('pay', contentType, body)
    const { result, detail, session } = await pages.checkout.pay(clientSecret, card)
    return { result, detail, ...(await view(pages, session)) }
  },
  stop: async (pages, contentType, body) => {
    const { clientSecret } = parseCheckout('stop', contentType, body)
    return view(pages, await pages.checkout.stop(clientSecret))
  },
} as const satisfies Record<
  CheckoutAction,
  (pages: CheckoutPages, contentType: string | undefined, body: string) => Promise<object>
>

/** A checkout as data, and as the page and the form word it. */
async function view({ now }: CheckoutPages, session: CheckoutSession) {
  return { ...session, words: checkoutWords(session, await now()) }
}

function refuse(c: Context, { system, log }: CheckoutPages, error: unknown): Response {
  const supportId = newId('req', system, system.now())
  const failure = error instanceof Failure ? error : new Failure(unexpected(error))
  const { status, body, headers } = refusal(failure, supportId)
  const fields = { path: c.req.path, status, supportId }
  if (error === failure) log.info(fields, 'refused')
  else if (hasLeft(c.req.raw)) log.info(fields, 'a client left before its request was read')
  else log.error({ ...fields, err: error }, 'a checkout request failed')
  return new Response(body, { status, headers: { ...headers, ...dataHeaders } })
}

function unexpected(error: unknown): 'service_unavailable' | 'server_error' {
  return error instanceof StoreBusyError ? 'service_unavailable' : 'server_error'
}

function tooLong(): Failure {
  const detail = `The body must be at most ${mostCheckoutBytes} bytes long.`
  return new Failure('invalid_value', { detail, source: { pointer: '' } })
}
