import { html } from 'hono/html'
import { accountSection } from '../frame/account.ts'
import type { Html } from '../frame/document.ts'
import { formPage } from '../frame/form-page.ts'
import type { LinkForm, Visitor } from '../frame/link-answers.ts'
import type { ConnectWords } from './words.ts'

/**
 * Renders the page at an invitation's `url`. The page has no script. A visitor without a form can read the request but
 * not answer it.
 */
export function connectPage(words: ConnectWords, visitor: Visitor): Html {
  const { title, developer, agent, invited, message, outcome } = words
  const facts = html`<div><dt>Agent</dt><dd><bdi>${agent}</bdi></dd></div>
<div><dt>Invited</dt><dd><bdi>${invited}</bdi></dd></div>
${message === null ? '' : html`<div><dt>Message</dt><dd><bdi>${message}</bdi></dd></div>`}`
  return askingPage({ title, developer, outcome, facts, request: request(words, visitor) })
}

interface AskingPage {
  title: string
  developer: string
  /** The outcome of the invitation; null while it is open. */
  outcome: { heading: string; line: string } | null
  facts: Html
  request: Html
}

/** Renders a page where a developer asks a person to connect. */
export function askingPage({ title, developer, outcome, facts, request }: AskingPage): Html {
  const main = html`<h1>${outcome === null ? html`<bdi>${developer}</bdi> asks to connect` : outcome.heading}</h1>
${outcome === null ? '' : html`<p role="status">${outcome.line}</p>`}
<dl>
<div><dt>From</dt><dd><bdi>${developer}</bdi></dd></div>
${facts}
</dl>
${outcome === null ? request : ''}`
  return formPage({ title, main })
}

function request(words: ConnectWords, { form, account, path }: Visitor): Html {
  return html`<section aria-labelledby="permissions">
<h2 id="permissions">If you accept, the agent may</h2>
<ul>
${words.permissions.map((text) => html`<li>${text}</li>`)}
</ul>
</section>
<dl>
<div><dt>Limit</dt><dd>${words.limit}</dd></div>
<div><dt>Lasts</dt><dd>Until you or <bdi>${words.developer}</bdi> revokes it</dd></div>
<div><dt>Answer by</dt><dd>${words.expires}</dd></div>
</dl>
${form === null ? signInNote(account !== null, path) : answerForm(words, form)}
${account === null ? '' : accountSection(account, 'Sign in as a different user', path)}`
}

/** Renders a note for a visitor who cannot answer. The note explains who can answer. */
export function signInNote(isSignedIn: boolean, path: string): Html {
  if (isSignedIn) return html`<p class="aside">This is for someone else. Only the invited account can answer.</p>`
  return html`<p class="aside"><a href="/sign-in?next=${encodeURIComponent(path)}">Sign in</a> to the invited account to answer.</p>`
}

/** Renders the hidden fields of the form on a page that people open from a link they received. */
export function hiddenFields({ token, personToken }: LinkForm): Html {
  return html`<input type="hidden" name="formToken" value="${token}">${
    personToken === null
      ? ''
      : html`
<input type="hidden" name="personToken" value="${personToken}">`
  }`
}

function answerForm({ invited }: ConnectWords, form: LinkForm): Html {
  const { action, personToken, mayAgree } = form
  return html`<form method="post" action="${action}">
${hiddenFields(form)}
<p class="aside" id="as">${personToken === null ? html`In the sandbox you answer as <bdi>${invited}</bdi>, without a password.` : html`You answer for <bdi>${invited}</bdi>.`}${mayAgree ? '' : ' To accept, sign in with your password.'}</p>
<div class="choices">
${mayAgree ? html`<button type="submit" name="decision" value="accept" aria-describedby="as">Accept</button>` : ''}
<button type="submit" name="decision" value="decline" class="quiet" aria-describedby="as">Decline</button>
</div>
</form>`
}
