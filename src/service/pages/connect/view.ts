import { html } from 'hono/html'
import type { Html, PageForm } from '../frame/document.ts'
import { formPage } from '../frame/form-page.ts'
import type { ConnectWords } from './words.ts'

/**
 * The page at an invitation's `url`. It has no script: the browser sends the form. Without `form` the person can read
 * what is asked, and not answer here.
 */
export function connectPage(words: ConnectWords, form: PageForm | null, sandbox: boolean): Html {
  const { title, developer, agent, invited, message, outcome } = words
  const facts = html`<div><dt>For its agent</dt><dd><bdi>${agent}</bdi></dd></div>
<div><dt>Asked of</dt><dd><bdi>${invited}</bdi></dd></div>
${message === null ? '' : html`<div><dt>Message</dt><dd><bdi>${message}</bdi></dd></div>`}`
  return askingPage({ title, developer, outcome, facts, request: request(words, form) }, sandbox)
}

interface Asking {
  title: string
  developer: string
  /** How the invitation ended; null: it is open. */
  outcome: { heading: string; line: string } | null
  facts: Html
  request: Html
}

/** A page where a developer asks a person to connect. */
export function askingPage({ title, developer, outcome, facts, request }: Asking, sandbox: boolean): Html {
  const main = html`<h1>${outcome === null ? html`<bdi>${developer}</bdi> asks to connect` : outcome.heading}</h1>
${outcome === null ? '' : html`<p role="status">${outcome.line}</p>`}
<dl>
<div><dt>Asked by</dt><dd><bdi>${developer}</bdi></dd></div>
${facts}
</dl>
${outcome === null ? request : ''}`
  return formPage({ title, main, sandbox })
}

function request(words: ConnectWords, form: PageForm | null): Html {
  return html`<section aria-labelledby="permissions">
<h2 id="permissions">If you accept, the agent may</h2>
<ul>
${words.permissions.map((text) => html`<li>${text}</li>`)}
</ul>
</section>
<dl>
<div><dt>Limit</dt><dd>${words.limit}</dd></div>
<div><dt>Lasts</dt><dd>Until you or <bdi>${words.developer}</bdi> end it</dd></div>
<div><dt>Answer by</dt><dd>${words.expires}</dd></div>
</dl>
${form === null ? html`<p class="aside">Sign in to your account to answer. This page can’t do it for you.</p>` : answerForm(words, form)}`
}

function answerForm({ invited }: ConnectWords, { action, token }: PageForm): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="formToken" value="${token}">
<p class="aside" id="as">In the sandbox you answer as <bdi>${invited}</bdi>, without a password.</p>
<div class="choices">
<button type="submit" name="decision" value="accept" aria-describedby="as">Accept</button>
<button type="submit" name="decision" value="decline" class="quiet" aria-describedby="as">Decline</button>
</div>
</form>`
}
