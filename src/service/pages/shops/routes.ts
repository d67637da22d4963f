import type { Context, Hono } from 'hono'
import type { Dependencies } from '../../request/pipeline.ts'
import { mayBeOwner } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { redirect } from '../frame/link-routes.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { detailOf, statusOf } from '../frame/refusals.ts'
import {
  attributesOf,
  newKey,
  notFound,
  type PageStatus,
  refusalPage,
  type ShopsDependencies,
  type Show,
  showPage,
  type Take,
  takeForm,
  withFailurePage,
} from './answers.ts'
import { showCheckout, takeCheckout } from './checkout-routes.ts'
import { showOrder, takeReturn } from './order-routes.ts'
import { itemsOf, maxShopFormBytes, quantitiesOf } from './requests.ts'
import { type Buyer, createShopPages, type ShopContent } from './shop-pages.ts'
import { goodsPage, type ShopForm, shopsPage } from './shop-view.ts'
import { type CheckoutAttributes, shopWords } from './words.ts'

/**
 * Mounts the pages of the sandbox's shops, for people and for agents that use a browser (docs/shops.md#in-a-browser).
 * The pages use no cookies: anyone who has the address of a checkout page can pay. Only the sandbox has shops.
 */
export function mountShops(app: Hono, dependencies: Dependencies & PageDependencies): void {
  if (dependencies.environment !== 'sandbox') return
  const pages: ShopsDependencies = { ...dependencies, shops: createShopPages(dependencies) }
  const refuse = (c: Context) => refusalPage(c, 400, 'The form is too long.')
  const limit = { maxBytes: maxShopFormBytes, refuse }
  const serve = pageRoutes(app, pages, withFailurePage)
  const take =
    (form: Take): Show =>
    (c) =>
      takeForm(c, pages, form)
  serve('GET /shops', showShops)
  serve('GET /shops/checkouts/:token', showCheckout)
  serve('POST /shops/checkouts/:token', take(takeCheckout), limit)
  serve('GET /shops/orders/:token', showOrder)
  serve('POST /shops/orders/:token', take(takeReturn), limit)
  serve('GET /shops/:shopId', showShop)
  serve('POST /shops/:shopId', take(startCheckout), limit)
}

const showShops: Show = async (c, { shops }) => {
  const all = await shops.all()
  return showPage(c, shopsPage(all.map(wordsOf)))
}

const wordsOf = ({ id, attributes, hidden }: ShopContent) => shopWords(id, attributes, hidden)

const showShop: Show = async (c, pages) => {
  const shop = await pages.shops.shop(c.req.param('shopId') ?? '')
  return shop === undefined ? noShop(c) : showGoods(c, pages, { shop, buyer: await buyerHere(c, pages) })
}

/**
 * Returns the buyer who uses a shop's page. The page's address identifies no buyer, so a visitor on this machine buys
 * for the only party that has agents. Returns undefined for other visitors, and if no party or several parties have
 * agents.
 */
async function buyerHere(c: Context, pages: ShopsDependencies): Promise<Buyer | undefined> {
  return mayBeOwner(c, pages) ? pages.shops.onlyBuyer() : undefined
}

interface Goods {
  shop: ShopContent
  buyer: Buyer | undefined
  form?: Partial<ShopForm>
  problem?: string
  status?: PageStatus
}

function showGoods(c: Context, pages: ShopsDependencies, { shop, buyer, form, problem, status }: Goods) {
  const filled = { action: c.req.path, key: newKey(pages), quantities: new Map(), wrong: [], ...form }
  return showPage(c, goodsPage(wordsOf(shop), buyer === undefined ? null : filled, problem ?? null), status)
}

const startCheckout: Take = async (c, pages, { sent, key }) => {
  const shop = await pages.shops.shop(c.req.param('shopId') ?? '')
  if (shop === undefined) return noShop(c)
  const buyer = await buyerHere(c, pages)
  if (buyer === undefined)
    return refusalPage(c, 403, 'This page can’t identify you. Start the checkout through the API.')
  const quantities = quantitiesOf(sent)
  const { items, wrong } = itemsOf(quantities)
  const again = { shop, buyer, form: { quantities, wrong } }
  if (wrong.length > 0 || items.length === 0) {
    const problem = wrong.length > 0 ? 'Check the quantities.' : 'Choose at least one product.'
    return showGoods(c, pages, { ...again, problem, status: 422 })
  }
  const note = sent.get('note')?.trim()
  const reply = await pages.shops.start(buyer, { shopId: shop.id, items, ...(note ? { note } : {}) }, key)
  if (reply.status === 200) return redirect(c, new URL(attributesOf<CheckoutAttributes>(reply).url).pathname)
  return showGoods(c, pages, { ...again, problem: `No checkout started. ${detailOf(reply)}`, status: statusOf(reply) })
}

function noShop(c: Context) {
  return notFound(c, 'There is no such shop in this world.')
}
