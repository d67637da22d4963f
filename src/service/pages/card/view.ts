import { html } from 'hono/html'
import type { Html, PageForm } from '../frame/document.ts'
import { formPage } from '../frame/form-page.ts'
import type { CardWords, DetailsWords } from './words.ts'

/** Renders a card's page without the card's number. The page works without JavaScript. */
export function cardPage(words: CardWords, form: PageForm): Html {
  return page(
    words.heading,
    html`<div ${words.asks ? '' : html`role="status"`}>
${words.lines.map((line) => html`<p>${line}</p>`)}
</div>
${facts(words)}
${
  words.asks
    ? html`<form method="post" action="${form.action}">
<input type="hidden" name="formToken" value="${form.token}">
<button type="submit">Show the number</button>
</form>`
    : ''
}`,
  )
}

/** Renders a card's page with the card's number. */
export function cardDetailsPage(words: CardWords, details: DetailsWords): Html {
  return page(
    'Your card’s number',
    html`<p class="warning" role="status">Shown once: the number disappears when you reload or leave this page.</p>
<dl>
<div><dt>Card number</dt><dd class="code">${details.number.join(' ')}</dd></div>
<div><dt>Expires (month / year)</dt><dd class="code">${details.expires}</dd></div>
<div><dt>Security code</dt><dd class="code">${details.cvv}</dd></div>
</dl>
<p>Enter these details into the payment form of <bdi>${words.merchant}</bdi> yourself. Don’t share them with anyone else, and don’t write them in a conversation with an agent.</p>
<section aria-labelledby="card">
<h2 id="card">The card</h2>
${facts(words)}
</section>`,
  )
}

function facts({ merchant, maximum, status, agent, expires }: CardWords): Html {
  return html`<dl>
<div><dt>Merchant</dt><dd><bdi>${merchant}</bdi></dd></div>
<div><dt>Maximum amount</dt><dd>${maximum}</dd></div>
<div><dt>Status</dt><dd>${status}</dd></div>
<div><dt>Agent</dt><dd><bdi>${agent}</bdi></dd></div>
<div><dt>Usable until</dt><dd>${expires}</dd></div>
</dl>`
}

function page(heading: string, content: Html): Html {
  return formPage({ title: heading, main: html`<h1>${heading}</h1>\n${content}` })
}
