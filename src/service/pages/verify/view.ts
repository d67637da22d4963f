import { html } from 'hono/html'
import type { Html, PageForm } from '../frame/document.ts'
import { formPage, titleOf } from '../frame/form-page.ts'
import { qrImage } from './qr-code.ts'
import type { AppSecret } from './second-factor.ts'
import type { VerifyWords } from './words.ts'

interface PageState extends PageForm {
  /** The name of the user who enters the code. */
  name: string
}

/** Renders the page of a second-factor check. The page contains no JavaScript. */
export function verifyPage(words: VerifyWords, { name, ...target }: PageState): Html {
  const main = html`<h1>${words.heading}</h1>
<div ${words.asksForCode ? '' : html`role="status"`}>
${words.lines.map((line) => html`<p>${line}</p>`)}
</div>
${words.asksForCode ? codeForm({ ...target, name, problem: words.problem, button: 'Verify' }) : ''}`
  return formPage({ title: words.title, main })
}

interface EnrollmentState extends PageState {
  problem: string | null
  /** The secret for the app; null if no setup was started or the secret was already shown. */
  secret: AppSecret | null
  begun: boolean
}

/** Renders the page where a user sets up an authenticator app. It shows the secret once. */
export function enrollmentPage({ secret, begun, name, problem, ...target }: EnrollmentState): Html {
  const heading = 'Set up an authenticator app'
  const main = html`<h1>${heading}</h1>
<p>Approving large payments needs a code from an authenticator app on your own device. You set it up once.</p>
${secret === null ? '' : secretSection(secret)}
${begun ? codeForm({ ...target, name, problem, button: 'Confirm' }) : ''}
<form method="post" action="${target.action}">
<input type="hidden" name="formToken" value="${target.token}">
${begun ? html`<p class="aside">The secret is shown only once. If you lost it, start again to get a new one.</p>` : ''}
<button type="submit" name="step" value="begin"${begun ? html` class="quiet"` : ''}>${begun ? 'Start again' : 'Show the secret'}</button>
</form>`
  return formPage({ title: titleOf(heading, problem), main })
}

function secretSection({ base32, address }: AppSecret): Html {
  return html`<section aria-labelledby="app">
<h2 id="app">Your secret</h2>
<p>Add it to any authenticator app, then enter the code that the app shows.</p>
${qrImage(address)}
<dl>
<div><dt>Secret (base32)</dt><dd><code>${base32}</code></dd></div>
<div><dt>Address for the app</dt><dd><code>${address}</code></dd></div>
</dl>
</section>`
}

interface CodeForm extends PageForm {
  name: string
  problem: string | null
  button: string
}

function codeForm({ action, token, name, problem, button }: CodeForm): Html {
  const invalid = problem === null ? '' : html`aria-invalid="true" autofocus`
  return html`<form method="post" action="${action}" novalidate>
<input type="hidden" name="formToken" value="${token}">
<p class="aside">Verifying <bdi>${name}</bdi></p>
<label for="code">6-digit code</label>
<input id="code" class="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="12" spellcheck="false" required aria-describedby="problem" ${invalid}>
<p class="problem" id="problem">${problem ?? ''}</p>
<button type="submit">${button}</button>
</form>`
}
