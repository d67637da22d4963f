import { html } from 'hono/html'
import { testCards } from '../../rules/test-cards.ts'
import { type Html, pageDocument } from '../frame/document.ts'
import { type CheckoutWords, testCardWords } from './words.ts'

/**
 * The secret that the page's script sends: `clientSecret` until the first payment is made, `manageToken` afterwards.
 */
export interface CheckoutSecrets {
  clientSecret?: string | null
  manageToken?: string
}

/**
 * Renders the page at `checkoutUrl`, or the page where the payer stops the payments. The page's script fills `#form`
 * and updates `#outcome`.
 */
export function checkoutPage(words: CheckoutWords, secrets: CheckoutSecrets): Html {
  const { clientSecret = null, manageToken = null } = secrets
  const { state, title, merchant, description, price, tax, schedule, expires, outcome, mayStop } = words
  const scripts = html`<script src="/checkout/library.js" defer></script><script src="/checkout/page.js" type="module"></script>`
  const body = html`<main class="checkout"${clientSecret === null ? '' : html` data-client-secret="${clientSecret}"`}${manageToken === null ? '' : html` data-manage-token="${manageToken}"`}>
<header>
<h1><span class="paid-to">Payment to</span> <bdi>${merchant}</bdi></h1>
<p><bdi>${description}</bdi></p>
</header>
<section id="terms" aria-label="What you pay" ${state === 'over' ? 'hidden' : ''}>
<dl>
<div id="now" ${outcome === null ? '' : 'hidden'}><dt>Now</dt><dd><strong class="price">${price}</strong>${tax === null ? '' : html` <span class="aside">${tax}</span>`}</dd></div>
<div><dt>Payments</dt><dd id="schedule">${schedule}</dd></div>
<div id="expires" ${expires === null ? 'hidden' : ''}><dt>Pay by</dt><dd>${expires ?? ''}</dd></div>
</dl>
</section>
<section id="outcome" role="status">${outcome === null ? '' : html`<h2>${outcome.heading}</h2>${outcome.lines.map((line) => html`<p>${line}</p>`)}`}</section>
<p id="manage" class="aside" ${mayStop && manageToken !== null ? '' : 'hidden'}>Keep the address of this page. You can use it to stop future payments at any time.</p>
<button id="stop" class="quiet" type="button" ${mayStop && manageToken !== null ? '' : 'hidden'}>Stop future payments</button>
<p id="problem" class="problem" role="alert"></p>
${
  outcome === null
    ? html`<section id="form" aria-label="Card payment"></section>
<noscript><p class="problem">To pay here, allow this page to run JavaScript.</p></noscript>`
    : ''
}
<dialog aria-labelledby="stop-heading">
<h2 id="stop-heading">Stop all future payments?</h2>
<p><bdi>${merchant}</bdi> will not charge your card again. This can’t be undone.</p>
<div class="choices">
<button id="stop-no" class="quiet" type="button">Keep them</button>
<button id="stop-yes" class="danger" type="button">Stop them</button>
</div>
</dialog>
</main>`
  return pageDocument({ title, styles, scripts, body })
}

/**
 * Renders the card form that `/checkout/library.js` shows in a frame. The form itself states the merchant, the purpose
 * and the price, so that the page around the frame can't misrepresent them.
 */
export function cardFormPage(sandbox: boolean): Html {
  const scripts = html`<script src="/checkout/form.js" type="module"></script>`
  const body = html`<main class="form" aria-label="Card details">
<p id="waiting" role="status">Loading the payment form…</p>
<section id="summary" aria-label="What you pay" hidden>
<p><strong class="price" id="price"></strong> <span class="aside" id="tax"></span></p>
<p>to <bdi id="merchant"></bdi> for <bdi id="description"></bdi></p>
<p class="aside" id="schedule"></p>
${sandbox ? html`<p class="sandbox">Sandbox: no real money</p>` : ''}
</section>
<section id="outcome" role="status"></section>
<form id="card" method="post" novalidate autocomplete="on" aria-label="Card" hidden>
${field({ id: 'number', label: 'Card number', autocomplete: 'cc-number', placeholder: '' })}
<div class="row">
${field({ id: 'expiry', label: 'Expires', autocomplete: 'cc-exp', placeholder: 'MM/YY' })}
${field({ id: 'cvv', label: 'Security code', autocomplete: 'cc-csc', placeholder: '' })}
</div>
<p id="agreement" class="aside"></p>
<p id="problem" class="problem" role="alert"></p>
<button id="pay" type="submit" aria-describedby="agreement"></button>
${sandbox ? testCardList() : ''}
</form>
</main>`
  // A framed page has no sandbox banner. Instead, the form has its own notice next to the price.
  return pageDocument({ title: 'Card payment', styles, scripts, framed: true, body })
}

const styles = ['/styles/base.css', '/styles/parts.css', '/styles/checkout.css'] as const

type Field = Record<'id' | 'label' | 'autocomplete' | 'placeholder', string>

/**
 * Renders a field of the card form. The field has no `name`, so the browser submits no card data if the script does not
 * run.
 */
function field({ id, label, autocomplete, placeholder }: Field): Html {
  return html`<div class="field">
<label for="${id}">${label}</label>
<input id="${id}" inputmode="numeric" autocomplete="${autocomplete}" placeholder="${placeholder}" maxlength="40" spellcheck="false" required aria-describedby="${id}-error">
<p class="problem" id="${id}-error"></p>
</div>`
}

function testCardList(): Html {
  return html`<details>
<summary>Test cards</summary>
<p class="aside">Pick one to fill in the form. Never enter a real card here.</p>
<ul class="list">
${Object.entries(testCards).map(
  ([
    number,
    card,
  ]) => html`<li><button type="button" class="plain" data-number="${number}"><span class="digits">${groupedDigits(number)}</span> ${testCardWords[card]}</button></li>
`,
)}</ul>
</details>`
}

function groupedDigits(number: string): string {
  return number.replace(/(\d{4})(?=\d)/g, '$1 ')
}
