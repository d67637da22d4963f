import { html } from 'hono/html'
import { foreignName, shortForeignText } from '../../../core/foreign-text.ts'
import type { DevicePages } from '../../oauth/provider.ts'
import type { Html, PageForm } from '../frame/document.ts'
import { formPage, titleOf } from '../frame/form-page.ts'
import { formPageHeaders } from '../frame/headers.ts'
import { codeProblem, failureWords } from './device-words.ts'

/** The pages where a person connects a device that has no browser (RFC 8628), including the error pages. */
export const devicePages: DevicePages = {
  enterCode: (form, error, hint = '') => wholePage(enterCode(form, error, hint.slice(0, longestCode))),
  confirmCode: (form, client, code) => wholePage(confirmCode(form, nameOf(client), code)),
  done: (client) => wholePage(doneView(nameOf(client))),
  failed: ({ code, description }) => wholePage(failureView(code, description)),
  unreachable: (document) => wholePage(unreachableView(document)),
  headers: formPageHeaders,
}

/** Converts a page to a string. `String` suffices, because these pages contain no promises. */
function wholePage(document: Html): string {
  return String(document)
}

function nameOf({ name }: { name: string }): string {
  return foreignName(name, 'an application without a name')
}

/** The maximum length of an entered code. It leaves room for separators between the letters. */
const longestCode = 20

function enterCode({ action, token }: PageForm, error: string | undefined, hint: string): Html {
  const heading = 'Connect a device'
  const problem = error === undefined ? null : codeProblem(error)
  const isError = problem?.isError === true
  const wrong = isError ? html`aria-invalid="true" aria-describedby="problem hint"` : html`aria-describedby="hint"`
  const main = html`<h1>${heading}</h1>
${problem === null ? '' : html`<p class="${isError ? 'problem' : 'done'}" id="problem" role="${isError ? 'alert' : 'status'}">${problem.text}</p>`}
<form method="post" action="${action}" novalidate>
<input type="hidden" name="xsrf" value="${token}">
<div class="field">
<label for="code">Code</label>
<p class="aside" id="hint">The eight letters that your device shows. Enter only a code that you asked for yourself.</p>
<input id="code" class="code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="${longestCode}" value="${hint}" required ${wrong} ${isError ? html`autofocus` : ''}>
</div>
<button type="submit">Continue</button>
</form>`
  return formPage({ title: titleOf(heading, isError ? problem.text : null), main })
}

function confirmCode({ action, token }: PageForm, name: string, code: string): Html {
  const heading = 'Is this your device?'
  const main = html`<h1>${heading}</h1>
<dl>
<div><dt>Application</dt><dd><bdi>${name}</bdi> (name not verified)</dd></div>
<div><dt>Code</dt><dd><strong class="code">${code}</strong></dd></div>
</dl>
<p class="warning" id="warning">Continue only if you started this yourself a moment ago and your device shows this code. If somebody sent you the code or a link, stop: they would get access to your account.</p>
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${token}">
<input type="hidden" name="user_code" value="${code}">
<div class="choices">
<button type="submit" name="confirm" value="yes" aria-describedby="warning">Continue</button>
<button type="submit" name="abort" value="yes" class="quiet">Stop</button>
</div>
</form>`
  return formPage({ title: heading, main })
}

function doneView(name: string): Html {
  const heading = 'Connected'
  const main = html`<h1>${heading}</h1>
<p role="status"><bdi>${name}</bdi> is connected. Go back to your device; you can close this page.</p>
<p><a href="/connections">See your connected applications</a></p>`
  return formPage({ title: heading, main })
}

function failureView(code: string, description: string): Html {
  const heading = 'This did not work'
  const detail = shortForeignText(description, 300)
  const main = html`<h1>${heading}</h1>
<p>${failureWords(code)}</p>
<p class="aside">For the application’s developer: <code>${shortForeignText(code)}</code>${detail === '' ? '' : html` (<bdi>${detail}</bdi>)`}</p>`
  return formPage({ title: heading, main })
}

function unreachableView({ address, reason }: { address: string; reason: string }): Html {
  const heading = 'The application could not be looked up'
  const main = html`<h1>${heading}</h1>
<p>The application’s metadata is at <bdi>${shortForeignText(address, 300)}</bdi>. This service could not read it, because ${shortForeignText(reason, 200)}.</p>
<p>The operator can let this service reach that address (through a proxy in <code>HTTPS_PROXY</code>), or start the service with <code>PAYMENTS_CLIENT_METADATA=off</code>, so that applications register instead. After that, connect again from the application.</p>`
  return formPage({ title: heading, main })
}
