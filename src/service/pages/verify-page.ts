import { html } from 'hono/html'
import type { Enrolment } from '../second-factor.ts'
import { type Html, messageBody, pageDocument, sandboxBanner } from './page-document.ts'
import type { VerifyWords } from './verify-words.ts'

interface Shown {
  /** Whose check it is. */
  name: string
  /** Where the code goes: the page's own path. */
  action: string
  enrolment: Enrolment | null
}

/** The page of a multi-factor check. It has no script: the browser sends the form. */
export function verifyPage(words: VerifyWords, { name, action, enrolment }: Shown): Html {
  return page(
    words.title,
    html`${sandboxBanner(enrolment !== null)}
<main>
<h1>${words.heading}</h1>
<div ${words.asks ? '' : html`role="status"`}>
${words.lines.map((line) => html`<p>${line}</p>`)}
</div>
${words.asks ? codeForm(words, name, action) : ''}
${words.asks && enrolment !== null ? appSection(enrolment) : ''}
</main>`,
  )
}

/** A page that says one thing. */
export function verifyMessage(heading: string, text: string): Html {
  return page(heading, messageBody(heading, text))
}

function codeForm({ problem }: VerifyWords, name: string, action: string): Html {
  const invalid = problem === null ? '' : html`aria-invalid="true" autofocus`
  return html`<form method="post" action="${action}" novalidate>
<p class="aside">Verifying <bdi>${name}</bdi></p>
<label for="code">6-digit code</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="12" spellcheck="false" required aria-describedby="problem" ${invalid}>
<p class="problem" id="problem">${problem ?? ''}</p>
<button type="submit">Verify</button>
</form>`
}

function appSection({ base32, address, stepSeconds, remainingSeconds }: Enrolment): Html {
  const rest = remainingSeconds === 1 ? '1 more second' : `${remainingSeconds} more seconds`
  return html`<section aria-labelledby="app">
<h2 id="app">Authenticator app in the sandbox</h2>
<p>Add this secret to any authenticator app. A real account shows it once, when the app is set up.</p>
<dl>
<div><dt>Secret (base32)</dt><dd><code>${base32}</code></dd></div>
<div><dt>Address for the app</dt><dd><code>${address}</code></dd></div>
<div><dt>Codes</dt><dd>6 digits, new every ${stepSeconds} seconds. When this page was opened, the present one was valid for ${rest}.</dd></div>
</dl>
</section>`
}

function page(title: string, body: Html): Html {
  return pageDocument({ title, styles: ['/connect/style.css', '/verify/style.css'], body })
}
