import { html } from 'hono/html'
import type { DecisionWords } from './decision-words.ts'
import type { Html } from './document.ts'
import { withLinkedIds } from './ids.ts'

/** A fact that only some pages show, such as the caller or the amount that a limit still allows. */
export interface ContextFact {
  label: string
  text: string
}

/**
 * Renders the facts about a call that needs a decision.
 * @param render Renders a text that may contain ids. By default, the ids become links.
 */
export function decisionFacts(
  { facts, effect, isPending, expiresAt }: DecisionWords,
  contextFacts: readonly ContextFact[] = [],
  render: (text: string) => Html | string = withLinkedIds,
): Html {
  const [first, ...others] = facts
  return html`<dl>
${first === undefined ? '' : html`<div><dt>${first.label || 'Action'}</dt><dd><strong>${render(first.text)}</strong></dd></div>`}
${others.map(({ label, text }) => html`<div><dt>${label || 'Note'}</dt><dd><bdi>${render(text)}</bdi></dd></div>`)}
${contextFacts.map(({ label, text }) => html`<div><dt>${label}</dt><dd><bdi>${render(text)}</bdi></dd></div>`)}
${isPending ? html`<div><dt>If you approve</dt><dd>${effect} The call runs once, exactly as shown here.</dd></div><div><dt>Decide by</dt><dd>${expiresAt}</dd></div>` : ''}
</dl>`
}

/** Renders the two buttons of the form. @param yes The label of the button that approves. */
export function decisionButtons(yes: string): Html {
  return html`<div class="choices">
<button type="submit" name="decision" value="yes">${yes}</button>
<button type="submit" name="decision" value="no" class="danger">No</button>
</div>`
}

export function outcomeOf({ outcome }: DecisionWords): Html | '' {
  return outcome.length === 0 ? '' : html`<div role="status">${outcome.map((line) => html`<p>${line}</p>`)}</div>`
}
