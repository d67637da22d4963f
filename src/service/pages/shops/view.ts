import { html } from 'hono/html'
import { type Html, pageDocument } from '../frame/document.ts'
import { titleOf } from '../frame/form-page.ts'
import type { SumWords } from './words.ts'

/** The parts of a shop page: the heading, the problem with the submitted form, and the content. */
interface ShopPage {
  heading: string
  problem: string | null
  main: Html
  /** Whether this page is the list of all shops. If so, it shows no link to that list. */
  isShopList?: boolean
}

/** Renders a shop page. The page contains no JavaScript. */
export function shopPage({ heading, problem, main, isShopList = false }: ShopPage): Html {
  return pageDocument({
    title: titleOf(heading, problem),
    body: html`<main class="broad">
${isShopList ? '' : html`<p class="aside"><a href="/shops">All shops</a></p>`}
${main}
</main>`,
  })
}

export function problemOf(problem: string | null): Html | '' {
  return problem === null ? '' : html`<p class="problem" id="problem" role="alert"><bdi>${problem}</bdi></p>`
}

/** Renders a text from the shop as a quotation, so that nobody mistakes it for the page's own text. */
export function quoteOf(label: string, text: string | null): Html | '' {
  return text === null
    ? ''
    : html`<figure><figcaption class="aside">${label}</figcaption><blockquote><bdi>${text}</bdi></blockquote></figure>`
}

export function sumsOf(sums: readonly SumWords[], total?: string): Html {
  return html`<dl class="sums">
${sums.map(({ name, amount }) => html`<div><dt><bdi>${name}</bdi></dt><dd>${amount}</dd></div>`)}
${total === undefined ? '' : html`<div class="total"><dt>Total</dt><dd>${total}</dd></div>`}
</dl>`
}
