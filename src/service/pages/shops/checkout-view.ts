import { html } from 'hono/html'
import { cardFieldsOf } from '../frame/card-fields.ts'
import type { Html } from '../frame/document.ts'
import { type CardField, cardFields, type Problems } from './requests.ts'
import { problemOf, quoteOf, shopPage, sumsOf } from './view.ts'
import type { CheckoutWords } from './words.ts'

/** The values that the page needs for the forms of a checkout. */
export interface CheckoutForms {
  action: string
  /** The idempotency key of the payment. */
  payKey: string
  /** The idempotency key for changing the extras; null if the extras cannot be changed. */
  cartKey: string | null
}

/** The problems with the submitted form: a general problem, or a problem for each invalid card field. */
export interface FormProblems {
  problem: string | null
  fields: Problems
}

/** Renders the checkout page with the card form. The page never contains card data. */
export function checkoutPage(words: CheckoutWords, forms: CheckoutForms, { problem, fields }: FormProblems): Html {
  const { merchant, terms, message, expires, declined } = words
  const notice = problem ?? (Object.keys(fields).length > 0 ? 'Nothing was paid. Check the card details.' : declined)
  const main = html`<h1>Checkout at <bdi>${merchant}</bdi></h1>
${problemOf(notice)}
${quoteOf('The shop says', message)}
<section aria-labelledby="cart">
<h2 id="cart">Your cart</h2>
${linesOf(words.lines)}
${extrasForm(words, forms)}
${sumsOf(words.sums, words.total)}
${terms === null ? '' : html`<p class="aside"><bdi>${terms}</bdi></p>`}
</section>
${cardForm(words, forms, fields)}
<p class="aside">This checkout is open until ${expires}.</p>`
  return shopPage({ heading: `Checkout at ${merchant}`, problem: notice, main })
}

/** Renders the lines of a cart or an order, each with its quantity, price and status. */
export function linesOf(lines: CheckoutWords['lines']): Html {
  return html`<ul class="list lines">
${lines.map(
  ({ name, quantity, price, status }) =>
    html`<li><span>${quantity} × <bdi>${name}</bdi>${status === null ? '' : html` <span class="aside">${status}</span>`}</span> <span class="number">${price}</span></li>`,
)}
</ul>`
}

/**
 * Renders the shop's extras, some of which the shop preselects. After the buyer selects or clears an extra, the card
 * form is hidden until the total is updated (assets/pages.css). So nobody pays for an extra that was just cleared.
 */
function extrasForm({ extras }: CheckoutWords, { action, cartKey }: CheckoutForms): Html | '' {
  if (extras.length === 0 || cartKey === null) return ''
  return html`<form method="post" action="${action}" class="box">
<input type="hidden" name="action" value="update">
<input type="hidden" name="key" value="${cartKey}">
<fieldset>
<legend>Extras</legend>
${extras.map(
  ({ id, name, price, selected }) => html`<div class="option">
<input type="checkbox" id="extra-${id}" name="extra" value="${id}" class="${selected ? 'in' : 'out'}" autocomplete="off" ${selected ? 'checked' : ''}>
<label for="extra-${id}"><bdi>${name}</bdi>, ${price}</label>
</div>`,
)}
</fieldset>
<p class="changed">The extras have changed: update the total before you pay.</p>
<button type="submit" class="quiet">Update the total</button>
</form>`
}

const cardFieldSettings = {
  number: { label: 'Card number', purpose: 'cc-number' },
  expirationMonth: { label: 'Expiry month', purpose: 'cc-exp-month', hint: 'MM' },
  expirationYear: { label: 'Expiry year', purpose: 'cc-exp-year', hint: 'YYYY' },
  cvv: { label: 'Security code', purpose: 'cc-csc' },
} as const satisfies Record<CardField, object>

function cardForm({ total, totalCents }: CheckoutWords, { action, payKey }: CheckoutForms, wrong: Problems): Html {
  const [number, ...rest] = cardFields
  const field = cardFieldsOf<CardField>(cardFieldSettings, wrong)
  return html`<form method="post" action="${action}" class="card box" novalidate aria-labelledby="card">
<h2 id="card">Pay by card</h2>
<input type="hidden" name="action" value="pay">
<input type="hidden" name="key" value="${payKey}">
<input type="hidden" name="amount" value="${totalCents}">
${field(number)}
<div class="row">
${rest.map(field)}
</div>
<button type="submit">Pay ${total}</button>
</form>`
}

/** Renders the page of a checkout that was not paid in time. */
export function expiredPage({ merchant }: CheckoutWords, shopId: string): Html {
  const heading = 'This checkout has expired'
  const main = html`<h1>${heading}</h1>
<p>Nothing was paid. <a href="/shops/${shopId}">Start again at <bdi>${merchant}</bdi></a>.</p>`
  return shopPage({ heading, problem: null, main })
}
