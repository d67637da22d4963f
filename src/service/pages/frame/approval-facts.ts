import { html } from 'hono/html'
import type { ApprovalWords, Part } from './approval-words.ts'
import type { Html } from './document.ts'
import { withLinkedIds } from './ids.ts'

/** Renders the facts about a payment that needs, or needed, a person's approval. */
export function approvalFacts({
  amount,
  payee,
  description,
  initiator,
  reasons,
  requestedAt,
  denialReason,
  isPending,
}: ApprovalWords): Html {
  return html`<dl>
<div><dt>Amount</dt><dd><strong>${amount}</strong></dd></div>
<div><dt>Payee</dt><dd>${parts(payee)}</dd></div>
${description === null ? '' : html`<div><dt>Description</dt><dd><bdi>${description}</bdi></dd></div>`}
<div><dt>Requested by</dt><dd>${parts(initiator)}, on ${requestedAt}</dd></div>
<div><dt>${isPending ? 'Why it needs approval' : 'Why it needed approval'}</dt>${reasons.map((reason) => html`<dd>${withLinkedIds(reason)}</dd>`)}</div>
${denialReason === null ? '' : html`<div><dt>Reason for the denial</dt><dd><bdi>${denialReason}</bdi></dd></div>`}
</dl>`
}

function parts(words: readonly Part[]): Html {
  return html`${words.map(({ text, foreign }) => (foreign ? html`<bdi>${withLinkedIds(text)}</bdi>` : text))}`
}
