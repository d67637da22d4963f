import { html } from 'hono/html'
import { foreignName } from '../../../core/foreign-text.ts'
import { isolatedText, momentOf } from '../frame/texts.ts'
import type { OpenedLink } from './link.ts'
import { askingPage } from './view.ts'
import { limitWords, permissionText } from './words.ts'

/**
 * Renders the page at an invitation link's `url`. The page has no script. If `action` is null, the visitor can read the
 * request but not answer it.
 */
export function linkPage(link: OpenedLink, action: string | null) {
  const developer = foreignName(link.developer, 'Somebody without a name', 200)
  const outcome = outcomes[link.state](isolatedText(developer))
  const title = outcome === null ? `Connect to ${developer}` : `${outcome.heading} – ${developer}`
  const facts = html`<div><dt>Open to</dt><dd>Anyone with this link</dd></div>`
  return askingPage({ title, developer, outcome, facts, request: request(link, developer, action) })
}

function request(link: OpenedLink, developer: string, action: string | null) {
  const { agents, expiresAtMs, formToken } = link
  return html`${agents.map(
    (proposed, index) => html`<section aria-labelledby="agent-${index}">
<h2 id="agent-${index}">If you accept, <bdi>${foreignName(proposed.agent, 'an agent without a name', 200)}</bdi> may</h2>
<ul>
${proposed.permissions.map((name) => html`<li>${permissionText(name)}</li>`)}
</ul>
<dl>
<div><dt>Limit</dt><dd>${limitWords(proposed)}</dd></div>
</dl>
</section>`,
  )}
<dl>
<div><dt>Lasts</dt><dd>Until you or <bdi>${developer}</bdi> revokes it</dd></div>
${expiresAtMs === null ? '' : html`<div><dt>Answer by</dt><dd>${momentOf(expiresAtMs)}</dd></div>`}
</dl>
${action === null ? html`<p class="aside">To accept, sign in to your account. You can’t accept on this page.</p>` : acceptForm(action, formToken)}`
}

function acceptForm(action: string, formToken: string) {
  return html`<form method="post" action="${action}">
<input type="hidden" name="formToken" value="${formToken}">
<p class="aside" id="as">In the sandbox you accept as a new test customer, without a password.</p>
<div class="choices">
<button type="submit" name="decision" value="accept" aria-describedby="as">Accept</button>
</div>
</form>`
}

type Outcome = { heading: string; line: string }

const outcomes = {
  open: () => null,
  joined: (developer) => ({
    heading: 'Connected',
    line: `The agents of ${developer} can act for you as you allowed, until you or ${developer} revokes this. You can close this page.`,
  }),
  empty: (developer) => ({
    heading: 'No longer open',
    line: `The agents that this link offered no longer exist. Ask ${developer} for a new link.`,
  }),
  revoked: (developer) => ({ heading: 'No longer open', line: `${developer} revoked this link.` }),
  expired: (developer) => ({ heading: 'Expired', line: `The link has expired. Ask ${developer} for a new one.` }),
} as const satisfies Record<OpenedLink['state'], (developer: string) => Outcome | null>
