import { html } from 'hono/html'
import { foreignName, foreignText } from '../../../core/foreign-text.ts'
import { accountSection } from '../frame/account.ts'
import type { Html } from '../frame/document.ts'
import { formPage } from '../frame/form-page.ts'
import type { LinkForm, Visitor } from '../frame/link-answers.ts'
import { dollars, isolatedText } from '../frame/texts.ts'
import type { Claim } from './claim.ts'
import { hiddenFields } from './view.ts'

/**
 * Renders the page at a payment's `claimLink`. The page has no script. Every visitor sees the sender and the amount.
 * The button to claim the payment is shown only if `form.mayAgree` is true and the status is `PENDING_CLAIM`.
 */
export function claimPage(claim: Claim, { form, account, path }: Visitor): Html {
  const { amountCents, status } = claim
  const sender = foreignName(claim.sender, 'Somebody', 200)
  const heading = `${isolatedText(sender)} sends you ${dollars(amountCents)}`
  const description = foreignText(claim.description ?? '')
  const { title, line } = stateWords(status, form?.mayAgree === true)
  const main = html`<h1>${heading}</h1>
<p role="status" class="${status === 'PENDING_CLAIM' ? '' : 'done'}">${line}</p>
<dl>
<div><dt>From</dt><dd><bdi>${sender}</bdi></dd></div>
<div><dt>Amount</dt><dd>${dollars(amountCents)}</dd></div>
${description === '' ? '' : html`<div><dt>For</dt><dd><bdi>${description}</bdi></dd></div>`}
</dl>
${status === 'PENDING_CLAIM' && form?.mayAgree === true ? claimForm(claim, form) : ''}
${status === 'PENDING_CLAIM' && form === null && account === null ? html`<p class="aside"><a href="/sign-in?next=${encodeURIComponent(path)}">Sign in</a></p>` : ''}
${account === null ? '' : accountSection(account, 'Sign in as a different user', path)}`
  return formPage({ title: title === null ? heading : `${title} – ${heading}`, main })
}

function claimForm({ claimant }: Claim, form: LinkForm): Html {
  const recipient = foreignName(claimant, 'the recipient', 254)
  return html`<form method="post" action="${form.action}">
${hiddenFields(form)}
<p class="aside" id="as">${form.personToken === null ? html`In the sandbox you claim it as the recipient, <bdi>${recipient}</bdi>, without an account or a password.` : html`You claim it for the recipient, <bdi>${recipient}</bdi>.`}</p>
<button type="submit" name="decision" value="claim" aria-describedby="as">Claim as the recipient</button>
</form>`
}

function stateWords(status: Claim['status'], mayClaim: boolean): { title: string | null; line: string } {
  if (status === 'PENDING_CLAIM') {
    return {
      title: null,
      line: mayClaim
        ? 'Not claimed yet. Until you claim it, the sender can cancel it.'
        : 'Not claimed yet. To claim it, sign in with a password as a user of the recipient’s account.',
    }
  }
  if (status === 'COMPLETED') return { title: 'Claimed', line: 'The money is in the recipient’s wallet.' }
  if (status === 'IN_REVIEW')
    return { title: 'In review', line: 'The sender is still reviewing this payment. Come back later.' }
  return { title: 'No longer available', line: 'The payment was canceled or denied. There is nothing to claim.' }
}
