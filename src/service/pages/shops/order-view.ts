import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'
import { linesOf } from './checkout-view.ts'
import { problemOf, quoteOf, shopPage, sumsOf } from './view.ts'
import type { OrderWords } from './words.ts'

/** The maximum length of a reason for a return, in characters. */
export const longestReason = 200

interface ReturnForm {
  action: string
  /** The idempotency key of the return. */
  key: string
}

interface OrderState {
  orderId: string
  /** The form for returning the order; null if the order cannot be returned. */
  form: ReturnForm | null
  /** The address of the checkout page for the unpaid rest of the order; null if there is none. */
  nextCheckout: string | null
  problem: string | null
}

/** Renders the page of an order, with its status, its receipt and the form for returning it. */
export function orderPage(words: OrderWords, { orderId, form, nextCheckout, problem }: OrderState): Html {
  const { merchant, status, receipt, message, subscription, next } = words
  const main = html`<h1>Your order at <bdi>${merchant}</bdi></h1>
${problemOf(problem)}
<p class="current" role="status">${status}</p>
${quoteOf('Receipt', receipt)}
${quoteOf('Latest message from the shop', message)}
<section aria-labelledby="bought">
<h2 id="bought">What you bought</h2>
<p class="aside">Order <code>${orderId}</code></p>
${linesOf(words.lines)}
${sumsOf(words.sums)}
${subscription === null ? '' : html`<p class="warning"><bdi>${subscription}</bdi></p>`}
${next === null ? '' : html`<p class="aside">Next update: ${next}.</p>`}
</section>
${nextCheckout === null ? '' : html`<p><a href="${nextCheckout}">Pay for the rest of the order</a></p>`}
${form === null ? '' : returnForm(form)}`
  return shopPage({ heading: `Your order at ${merchant}`, problem, main })
}

function returnForm({ action, key }: ReturnForm): Html {
  return html`<section aria-labelledby="return">
<h2 id="return">Return the order</h2>
<form method="post" action="${action}">
<input type="hidden" name="key" value="${key}">
<div class="field">
<label for="reason">Reason (optional)</label>
<input id="reason" name="reason" maxlength="${longestReason}" autocomplete="off">
</div>
<button type="submit" class="quiet">Return this order</button>
</form>
</section>`
}
