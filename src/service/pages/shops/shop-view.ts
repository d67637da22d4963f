import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'
import { longestNote, maxQuantity, quantityPrefix } from './requests.ts'
import { problemOf, shopPage } from './view.ts'
import type { ProductWords, ShopWords } from './words.ts'

/** Renders the page that lists all shops. */
export function shopsPage(shops: readonly ShopWords[]): Html {
  const heading = 'Shops'
  const main = html`<h1>${heading}</h1>
<p>Sandbox merchants that accept cards.</p>
${shops.length === 0 ? html`<p>This world has no shops.</p>` : ''}
<ul class="list">
${shops.map(
  ({ id, name, about }) => html`<li class="box stack">
<h2><a href="/shops/${id}"><bdi>${name}</bdi></a></h2>
${about === null ? '' : html`<p class="aside clamped"><bdi>${about}</bdi></p>`}
</li>`,
)}
</ul>`
  return shopPage({ heading, problem: null, main, isShopList: true })
}

/** The values of the purchase form. */
export interface ShopForm {
  action: string
  /** The idempotency key of the checkout that the form starts. */
  key: string
  /** The quantities that the buyer has already typed, by product id. */
  quantities: ReadonlyMap<string, string>
  /** The ids of the products with an invalid quantity. */
  wrong: readonly string[]
}

/** Renders a shop's page. Without a form, the page lists the products and explains how to buy them through the API. */
export function goodsPage(shop: ShopWords, form: ShopForm | null, problem: string | null): Html {
  const products = html`<ul class="list">
${shop.products.map((product) => html`<li class="box stack">${goods(product, form)}</li>`)}
</ul>`
  const main = html`<h1><bdi>${shop.name}</bdi></h1>
${problemOf(problem)}
${shop.about === null ? '' : html`<p><bdi>${shop.about}</bdi></p>`}
${form === null ? html`${products}${howToBuy(shop)}` : buyForm(form, products)}`
  return shopPage({ heading: shop.name, problem, main })
}

function goods({ id, name, description, price, hidden }: ProductWords, form: ShopForm | null): Html {
  return html`<h2 id="name-${id}"><bdi>${name}</bdi></h2>
<p class="price">${price}</p>
${description === null ? '' : html`<p><bdi>${description}</bdi></p>`}
${hidden === null ? '' : html`<p class="unseen" aria-hidden="true">${hidden}</p>`}
${form === null ? '' : quantityField(id, form)}`
}

function quantityField(id: string, { quantities, wrong }: ShopForm): Html {
  const isWrong = wrong.includes(id)
  const state = html` aria-invalid="true"${wrong[0] === id ? ' autofocus' : ''}`
  return html`<div class="line quantity">
<label for="quantity-${id}">Quantity</label>
<input id="quantity-${id}" name="${quantityPrefix}${id}" type="number" min="0" max="${maxQuantity}" step="1" value="${isWrong ? '' : (quantities.get(id) ?? '0')}" aria-describedby="name-${id}${isWrong ? ` wrong-${id}` : ''}"${isWrong ? state : ''}>
${isWrong ? html`<p class="problem" id="wrong-${id}">Type a whole number from 0 to ${maxQuantity}.</p>` : ''}
</div>`
}

function buyForm({ action, key }: ShopForm, products: Html): Html {
  return html`<form method="post" action="${action}" novalidate>
<input type="hidden" name="key" value="${key}">
${products}
<div class="field">
<label for="note">Note to the shop (optional)</label>
<textarea id="note" name="note" rows="2" maxlength="${longestNote}"></textarea>
</div>
<button type="submit">Go to checkout</button>
</form>`
}

function howToBuy({ id }: ShopWords): Html {
  return html`<section aria-labelledby="how">
<h2 id="how">How to buy here</h2>
<p>This page can’t tell who you are. An agent starts a checkout with the tool <code>start_shop_checkout</code> (shopId <code>${id}</code>), or with <code>POST /simulations/shops/${id}/checkouts</code>. Open the <code>url</code> from the answer to pay.</p>
</section>`
}
