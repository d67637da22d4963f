import type { Context } from 'hono'
import { redirect } from '../frame/link-routes.ts'
import { detailOf, statusOf } from '../frame/refusals.ts'
import {
  newKey,
  notFound,
  type PageStatus,
  type ShopsDependencies,
  type Show,
  showPage,
  type Take,
  tokenOf,
} from './answers.ts'
import { longestReason, orderPage } from './order-view.ts'
import type { OpenedOrder } from './shop-pages.ts'
import { orderWords } from './words.ts'

export const showOrder: Show = async (c, pages) => {
  const opened = await pages.shops.order(tokenOf(c))
  return opened === undefined ? noOrder(c) : showOpened(c, pages, opened)
}

export const takeReturn: Take = async (c, pages, { sent, key }) => {
  const opened = await pages.shops.order(tokenOf(c))
  if (opened === undefined) return noOrder(c)
  const reason = sent.get('reason')?.trim() ?? ''
  if (reason.length > longestReason) {
    const problem = `Nothing was returned. Shorten the reason to at most ${longestReason} characters.`
    return showOpened(c, pages, opened, { problem, status: 422 })
  }
  const reply = await pages.shops.sendBack(opened, reason === '' ? {} : { reason }, key)
  if (reply.status === 200) return redirect(c, c.req.path)
  const problem = `Nothing was returned. ${detailOf(reply)}`
  return showOpened(c, pages, opened, { problem, status: statusOf(reply) })
}

function showOpened(
  c: Context,
  pages: ShopsDependencies,
  { id: orderId, attributes, mayReturn, nextCheckout }: OpenedOrder,
  { problem = null, status }: { problem?: string | null; status?: PageStatus } = {},
) {
  const form = mayReturn ? { action: c.req.path, key: newKey(pages) } : null
  return showPage(c, orderPage(orderWords(attributes), { orderId, form, nextCheckout, problem }), status)
}

function noOrder(c: Context) {
  return notFound(c, 'There is no order at this address. Check the link.')
}
