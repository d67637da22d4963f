import { html } from 'hono/html'
import { type Account, accountSection } from '../frame/account.ts'
import { approvalFacts } from '../frame/approval-facts.ts'
import type { ApprovalWords } from '../frame/approval-words.ts'
import { type ContextFact, decisionButtons, decisionFacts, outcomeOf } from '../frame/decision-facts.ts'
import type { DecisionWords } from '../frame/decision-words.ts'
import type { Html, PageForm } from '../frame/document.ts'
import { afterDeciding, formPage, titleOf } from '../frame/form-page.ts'
import { askForProof } from '../frame/proof.ts'

interface PageState {
  words: DecisionWords
  contextFacts: readonly ContextFact[]
  /** The form, or a text in its place. The page shows this content only while the call is pending. */
  form: Html
  /** The content below the form. */
  after: Html | ''
  problem: string | null
  /** Whether the site has no console. If so, ids are plain text instead of links. */
  isWithoutConsole?: boolean
}

/**
 * Renders the page where a person decides on a model's call. The page has no script: the browser itself sends the form.
 */
export function decisionPage({ words, contextFacts, form, after, problem, isWithoutConsole = false }: PageState): Html {
  const main = html`<h1>${words.heading}</h1>
${problem === null ? '' : html`<p class="problem" role="alert">${problem}</p>`}
${outcomeOf(words)}
${isWithoutConsole ? decisionFacts(words, contextFacts, (text) => text) : decisionFacts(words, contextFacts)}
${words.isPending ? form : ''}
${after}`
  return formPage({ title: titleOf(words.heading, problem), main })
}

/** The message for a person whose answer came too late. */
export const lateWords = 'This request was already decided or has expired. Your answer had no effect.'

/**
 * Renders the form for a decision. If `mayAgree` is false, the only button is No, and a warning asks for proof of
 * identity.
 */
export function decisionForm({ yes }: DecisionWords, { action, token }: PageForm, mayAgree = true): Html {
  return html`${mayAgree ? '' : askForProof('agree', action)}
<form method="post" action="${action}">
<input type="hidden" name="formToken" value="${token}">
${mayAgree ? decisionButtons(yes) : html`<button type="submit" name="decision" value="no" class="danger">No</button>`}
</form>`
}

/** Renders the content below a decision: links, and the signed-in account. */
export function afterDecision(account: Account, next: string): Html {
  return html`${afterDeciding}
${accountSection(account, 'Sign in as a different user', next)}`
}

interface Waiting {
  decisions: readonly { words: DecisionWords; contextFacts: readonly ContextFact[]; form: PageForm }[]
  approvals: readonly { words: ApprovalWords; form: PageForm }[]
  /** Whether there are more pending decisions than the page shows. */
  hasMore: boolean
  mayAgree: boolean
}

/** Renders the page of all pending decisions. */
export function decisionsPage({ decisions, approvals, hasMore, mayAgree }: Waiting): Html {
  const heading = 'Pending decisions'
  const isEmpty = decisions.length + approvals.length === 0
  const main = html`<h1>${heading}</h1>
${isEmpty ? html`<p>No decisions are pending.</p>` : ''}
${decisions.map(
  ({ words, contextFacts, form }, index) => html`<section aria-labelledby="decision-${index}">
<h2 id="decision-${index}">${words.facts[0]?.text ?? words.heading}</h2>
${decisionFacts(words, contextFacts)}
${decisionForm(words, form, mayAgree)}
</section>
`,
)}
${approvals.map(
  ({ words, form }, index) => html`<section aria-labelledby="approval-${index}">
<h2 id="approval-${index}">Payment of ${words.amount} in review</h2>
${approvalFacts(words)}
${mayAgree ? '' : askForProof('approve', form.action)}
<form method="post" action="${form.action}">
<input type="hidden" name="formToken" value="${form.token}">
<div class="choices">
${mayAgree ? html`<button type="submit" name="decision" value="approve">Approve ${words.amount}</button>` : ''}
<button type="submit" name="decision" value="deny" class="danger">Deny</button>
</div>
</form>
<p><a href="${form.action}">Deny with a reason</a></p>
</section>
`,
)}
${hasMore ? html`<p>More decisions are pending. They appear here after you decide some of these.</p>` : ''}`
  return formPage({ title: heading, main })
}
