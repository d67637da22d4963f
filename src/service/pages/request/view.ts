import { html } from 'hono/html'
import { testCards } from '../../rules/test-cards.ts'
import { type Account, accountSection } from '../frame/account.ts'
import { cardFieldsOf } from '../frame/card-fields.ts'
import type { Html } from '../frame/document.ts'
import { formPage, titleOf } from '../frame/form-page.ts'
import { askForProof } from '../frame/proof.ts'
import type { ShownRequest } from './request-page.ts'
import type { CardField, CardProblems } from './requests.ts'
import { type RequestWords, testCardWords } from './words.ts'

/** The values that the page needs for its forms. */
export interface PageForms {
  /** The forms' target: the page's own path. */
  action: string
  /** A token that is valid only while the request is unchanged. */
  token: string
  /** A token that proves that the signed-in user opened the form; null if nobody is signed in. */
  personToken: string | null
  /** Whether the browser's session may pay from a wallet. */
  mayAgree: boolean
  account: Account | null
}

/** The problems with the submitted form: a general problem, or a problem for each invalid card field. */
export interface FormProblems {
  problem: string | null
  fields: CardProblems
}

/**
 * Renders the page at a payment request's `paymentLinkUrl`. The page has no script: the browser itself sends the forms.
 */
export function requestPage(
  request: ShownRequest,
  words: RequestWords,
  { forms, refused, sandbox }: { forms: PageForms; refused: FormProblems; sandbox: boolean },
): Html {
  const { heading, outcome, review, requester, payer, amount, description, expires } = words
  const isOpen = request.status === 'OPEN'
  const wrong = Object.keys(refused.fields).length > 0 ? 'Nothing was paid. Check the card details.' : null
  const problem = refused.problem ?? wrong ?? words.declined
  const main = html`<h1>${heading}</h1>
${problem === null ? '' : html`<p class="problem" id="problem" role="alert">${problem}</p>`}
${outcome === null ? '' : html`<p role="status" class="done">${outcome}</p>`}
${review === null ? '' : html`<p><a href="${review}">Review this payment</a></p>`}
<dl>
<div><dt>To</dt><dd><bdi>${requester}</bdi></dd></div>
<div><dt>Amount</dt><dd>${amount}</dd></div>
${description === '' ? '' : html`<div><dt>For</dt><dd><bdi>${description}</bdi></dd></div>`}
<div><dt>Payer</dt><dd><bdi>${payer}</bdi></dd></div>
${isOpen ? html`<div><dt>Pay by</dt><dd>${expires}</dd></div>` : ''}
</dl>
${isOpen ? answerForms(request, words, { forms, fields: refused.fields, sandbox }) : ''}
${forms.account === null ? '' : accountSection(forms.account, 'Sign out', forms.action)}`
  return formPage({ title: titleOf(heading, problem), main })
}

interface FormsState {
  forms: PageForms
  fields: CardProblems
  sandbox: boolean
}

function answerForms(request: ShownRequest, words: RequestWords, { forms, fields, sandbox }: FormsState): Html {
  const { viewer, takesCards, isNewPayer } = request
  const isRequester = viewer?.relation === 'requester'
  if (request.answerer === 'nobody') return payersOnlyNotice(words, forms)
  return html`${isRequester ? html`<p class="aside">You requested this payment. Anyone with this link can pay it.</p>` : ''}
${viewer?.relation === 'other' ? html`<p class="aside">This request is for someone else, so your wallets can’t pay it.</p>` : ''}
${viewer?.relation === 'payer' ? walletForm(words, forms) : ''}
${takesCards ? cardForm(words, forms, { fields, isNewPayer, sandbox }) : html`<p class="warning">Too many cards were declined. This request can no longer be paid by card.</p>`}
${viewer === null && !isNewPayer ? html`<p class="aside">To pay from a wallet instead, <a href="/sign-in?next=${encodeURIComponent(forms.action)}">sign in</a>.</p>` : ''}
<section aria-labelledby="no">
<h2 id="no">Don’t want to pay?</h2>
<p class="aside">If you decline, <bdi>${words.requester}</bdi> is notified. If you just close this page, nothing is paid, and the link still works until the request expires.</p>
<form method="post" action="${forms.action}">
${hiddenFields(forms)}
<button type="submit" name="decision" value="decline" class="danger">Decline</button>
</form>
</section>`
}

/** Renders the notice that only the payer's users can pay or decline. */
function payersOnlyNotice({ payer }: RequestWords, { account, action }: PageForms): Html {
  if (account !== null) return html`<p class="aside">Only a user of <bdi>${payer}</bdi> can pay or decline this.</p>`
  return html`<p class="aside"><a href="/sign-in?next=${encodeURIComponent(action)}">Sign in</a> as a user of <bdi>${payer}</bdi> to pay or decline this.</p>`
}

function hiddenFields({ token, personToken }: PageForms): Html {
  return html`<input type="hidden" name="formToken" value="${token}">${
    personToken === null
      ? ''
      : html`
<input type="hidden" name="personToken" value="${personToken}">`
  }`
}

function walletForm({ wallets, amount }: RequestWords, forms: PageForms): Html {
  if (wallets.length === 0) return html`<p class="aside">Your account has no wallet that can pay.</p>`
  if (!forms.mayAgree) return askForProof('pay from a wallet', forms.action)
  return html`<section aria-labelledby="wallet">
<h2 id="wallet">Pay from a wallet</h2>
<form method="post" action="${forms.action}">
${hiddenFields(forms)}
<fieldset>
<legend class="unseen">Wallet</legend>
${wallets.map(
  ({ id, label }, index) => html`<div class="option">
<input type="radio" id="${id}" name="walletId" value="${id}" autocomplete="off" required ${index === 0 ? 'checked' : ''}>
<label for="${id}"><bdi>${label}</bdi></label>
</div>`,
)}
</fieldset>
<button type="submit" name="decision" value="wallet">Pay ${amount} from this wallet</button>
</form>
</section>`
}

const cardFieldSettings = {
  number: { label: 'Card number', purpose: 'cc-number' },
  expiry: { label: 'Expires', purpose: 'cc-exp', hint: 'MM/YY' },
  cvv: { label: 'Security code', purpose: 'cc-csc' },
} as const satisfies Record<CardField, object>

interface CardForm {
  fields: CardProblems
  isNewPayer: boolean
  sandbox: boolean
}

function cardForm({ amount, payer }: RequestWords, forms: PageForms, { fields, isNewPayer, sandbox }: CardForm): Html {
  const field = cardFieldsOf<CardField>(cardFieldSettings, fields)
  return html`<section aria-labelledby="card">
<h2 id="card">Pay by card</h2>
<form method="post" action="${forms.action}" novalidate aria-labelledby="card">
${hiddenFields(forms)}
${field('number')}
<div class="row">
${field('expiry')}
${field('cvv')}
</div>
<p class="aside" id="as">${isNewPayer ? html`You pay as <bdi>${payer}</bdi>, and paying creates their account. ` : ''}The card is charged once, now.</p>
<button type="submit" name="decision" value="card" aria-describedby="as">Pay ${amount}</button>
${sandbox ? testCardList() : ''}
</form>
</section>`
}

function testCardList(): Html {
  return html`<details>
<summary>Test cards</summary>
<p class="aside">Use any future month and any security code. Never enter a real card here.</p>
<dl>
${Object.entries(testCards).map(
  ([number, card]) => html`<div><dt><code>${number}</code></dt><dd>${testCardWords[card]}</dd></div>
`,
)}</dl>
</details>`
}
