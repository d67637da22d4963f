import { html } from 'hono/html'
import { approvalFacts } from '../frame/approval-facts.ts'
import type { ApprovalWords } from '../frame/approval-words.ts'
import type { Html, PageForm } from '../frame/document.ts'
import { afterDeciding, formPage, titleOf } from '../frame/form-page.ts'
import { askForProof } from '../frame/proof.ts'

/** The maximum length of a reason, in UTF-16 code units. */
export const maxReasonLength = 500

interface ApprovalForm extends PageForm {
  /** The name of the person who decides. */
  user: string
  /** The reason that the person entered in a previous attempt. */
  reason: string
}

interface PageState {
  form: ApprovalForm
  /** Whether the person may approve, and not only deny. */
  mayAgree: boolean
  /** The message that explains why the submitted decision had no effect; null if there is no such message. */
  problem: string | null
  /** Whether the problem is that the entered reason is too long. */
  wrongReason: boolean
}

/** Renders the page where a person approves or denies a payment. The page works without JavaScript. */
export function approvalPage(words: ApprovalWords, state: PageState): Html {
  const { problem } = state
  const { heading, outcome, isPending, check } = words
  const main = html`<h1>${heading}</h1>
${problem === null ? '' : html`<p class="problem" id="problem" role="alert">${problem}</p>`}
${outcome.length === 0 ? '' : html`<div role="status">${outcome.map((line) => html`<p>${line}</p>`)}</div>`}
${approvalFacts(words)}
${check === null ? '' : html`<p class="done">${check}</p>`}
${isPending ? decisionForm(state) : ''}
${afterDeciding}`
  return formPage({ title: titleOf(heading, problem), main })
}

function decisionForm({ form: { action, token, user, reason }, mayAgree, wrongReason }: PageState): Html {
  const wrong = wrongReason ? html`aria-invalid="true" autofocus` : ''
  return html`${mayAgree ? '' : askForProof('approve', action)}
<form method="post" action="${action}">
<input type="hidden" name="formToken" value="${token}">
<div class="field">
<label for="reason">Reason for denying (optional)</label>
<textarea id="reason" name="reason" rows="2" maxlength="${maxReasonLength}" aria-describedby="reason-readers${wrongReason ? ' problem' : ''}" ${wrong}>
${reason}</textarea>
<p class="aside" id="reason-readers">The requester can read it.</p>
</div>
<p>Deciding as <bdi>${user}</bdi>.</p>
<div class="choices">
${mayAgree ? html`<button type="submit" name="decision" value="approve">Approve</button>` : ''}
<button type="submit" name="decision" value="deny" class="danger">Deny</button>
</div>
</form>`
}
