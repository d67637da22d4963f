import type { Context } from 'hono'
import { foreignText } from '../../../core/foreign-text.ts'
import type { Reply } from '../../request/reply.ts'
import { redirect } from '../frame/link-routes.ts'
import { detailOf, statusOf } from '../frame/refusals.ts'
import {
  attributesOf,
  newKey,
  notFound,
  type PageStatus,
  type ShopsDependencies,
  type Show,
  showPage,
  type Take,
  tokenOf,
} from './answers.ts'
import { checkoutPage, expiredPage, type FormProblems } from './checkout-view.ts'
import { amountOf, cardOf } from './requests.ts'
import type { OpenedCheckout } from './shop-pages.ts'
import { type CheckoutAttributes, checkoutWords } from './words.ts'

export const showCheckout: Show = async (c, pages) => {
  const opened = await pages.shops.checkout(tokenOf(c))
  return opened === undefined ? noCheckout(c) : showOpened(c, pages, opened)
}

export const takeCheckout: Take = async (c, pages, { sent, key }) => {
  const opened = await pages.shops.checkout(tokenOf(c))
  if (opened === undefined) return noCheckout(c)
  if (opened.attributes.status !== 'open') return showOpened(c, pages, opened)
  return sent.get('action') === 'update'
    ? updateExtras(c, pages, { opened, sent, key })
    : pay(c, pages, { opened, sent, key })
}

interface Input {
  opened: OpenedCheckout
  sent: URLSearchParams
  key: string
}

/** Starts a new checkout with the chosen extras. The old checkout does not change; if nobody pays it, it expires. */
async function updateExtras(c: Context, pages: ShopsDependencies, { opened, sent, key }: Input) {
  const { attributes, buyer, note } = opened
  const items = attributes.items.map(({ productId, quantity }) => ({ productId, quantity }))
  const cart = { shopId: attributes.shopId, items, extras: sent.getAll('extra'), ...(note === null ? {} : { note }) }
  const reply = await pages.shops.start(buyer, cart, key)
  if (reply.status === 200) return redirect(c, new URL(attributesOf<CheckoutAttributes>(reply).url).pathname)
  return showRefusal(c, pages, opened, { reply })
}

async function pay(c: Context, pages: ShopsDependencies, { opened, sent, key }: Input) {
  const { card, problems } = cardOf(sent)
  const amount = amountOf(sent)
  if (Object.keys(problems).length > 0) {
    return showOpened(c, pages, opened, { refused: { problem: null, fields: problems }, status: 422 })
  }
  if (amount === undefined) {
    const problem = 'Nothing was paid: the form lacks the total that you agree to. Send all fields of the form.'
    return showOpened(c, pages, opened, { refused: { problem, fields: {} }, status: 422 })
  }
  const reply = await pages.shops.pay(opened, { ...card, amount }, key)
  // Redirects to the page that shows the order or the decline, so that a reload does not send the payment again.
  if (reply.status === 200) {
    const { orderId } = attributesOf<CheckoutAttributes>(reply)
    return redirect(c, orderId === null ? c.req.path : orderPathOf(c))
  }
  // After a 503, the outcome of the payment is unknown. The form keeps its idempotency key, so that sending the form
  // again cannot pay twice.
  return showRefusal(c, pages, opened, { reply, ...(reply.status === 503 ? { payKey: key } : {}) })
}

async function showRefusal(
  c: Context,
  pages: ShopsDependencies,
  opened: OpenedCheckout,
  { reply, payKey }: { reply: Reply; payKey?: string },
) {
  const problem = foreignText(detailOf(reply)) || 'The shop could not do that. Try again in a moment.'
  // After a conflict (409), the page shows the current state of the checkout. For example, the checkout may have been
  // paid in another tab.
  const now = reply.status === 409 ? await pages.shops.checkout(tokenOf(c)) : undefined
  const options = { refused: { problem, fields: {} }, status: statusOf(reply), ...(payKey ? { payKey } : {}) }
  return showOpened(c, pages, now ?? opened, options)
}

interface PageState {
  refused?: FormProblems
  status?: PageStatus
  /** The idempotency key of the payment that the form should retry; by default, a new key. */
  payKey?: string
}

function showOpened(
  c: Context,
  pages: ShopsDependencies,
  { attributes, mayChange }: OpenedCheckout,
  state: PageState = {},
) {
  if (attributes.status === 'paid') return redirect(c, orderPathOf(c))
  const words = checkoutWords(attributes)
  if (attributes.status === 'expired') return showPage(c, expiredPage(words, attributes.shopId), 410)
  const { refused = { problem: null, fields: {} }, status = 200, payKey = newKey(pages) } = state
  const forms = { action: c.req.path, payKey, cartKey: mayChange ? newKey(pages) : null }
  return showPage(c, checkoutPage(words, forms, refused), status)
}

function orderPathOf(c: Context): string {
  return `/shops/orders/${tokenOf(c)}`
}

function noCheckout(c: Context) {
  return notFound(c, 'There is no checkout at this address. Check the link, or start again at the shop.')
}
