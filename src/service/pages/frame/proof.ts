import { html } from 'hono/html'
import type { SignedIn } from '../../oauth/sign-in.ts'
import type { Html } from './document.ts'
import { formPage } from './form-page.ts'

/** The reason why a person who signed in with one click can only view and decline. */
export const oneClickWords = 'You signed in with one click, as any program on this computer can.'

/** Instructions for people at the sandbox's machine on how to prove that they are not a program. */
export const howToProve = html`Use the email and the password that the sandbox printed when it was started (to choose your own password, set <code>PAYMENTS_SANDBOX_PASSWORD</code>), or run <code>payments-mcp console</code> (<code>npm run console</code> in a clone of the repository), which opens a one-time link.`

/**
 * Renders a warning in place of the buttons that need proof of identity, with a link to the password form. After
 * signing in, the person comes back to `next`.
 */
export function askForProof(to: string, next: string): Html {
  return html`<p class="warning">${oneClickWords} <a href="${proofAddress(next)}">Sign in with your password</a> to ${to}.</p>`
}

function proofAddress(next: string): string {
  return `/sign-in?next=${encodeURIComponent(next)}`
}

/** Renders the page that refuses a form because the session lacks the proof of identity that the form needs. */
export function unprovenPage({ user: { email } }: SignedIn, next: string): Html {
  const heading = 'Confirm that it is you'
  const main = html`<h1>${heading}</h1>
<p class="problem" role="alert">Nothing was changed. ${oneClickWords} To make this change, sign in with your password.</p>
${passwordForm({ next, email, problem: null })}
<p class="aside">${howToProve}</p>
<p><a href="${next}">Go back without signing in</a></p>`
  return formPage({ title: `Error: ${heading}`, main })
}

interface PasswordForm {
  /** The local path to open after signing in. */
  next: string
  email: string
  problem: string | null
}

export function passwordForm({ next, email, problem }: PasswordForm): Html {
  const invalid = problem === null ? '' : html`aria-invalid="true" aria-describedby="problem"`
  const [emailFocus, passwordFocus] =
    problem === null ? ['', ''] : email === '' ? [html`autofocus`, ''] : ['', html`autofocus`]
  return html`<form method="post" action="/sign-in" novalidate>
<input type="hidden" name="next" value="${next}">
${problem === null ? '' : html`<p class="problem" id="problem" role="alert">${problem}</p>`}
<div class="field">
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="254" required value="${email}" ${invalid} ${emailFocus}>
</div>
<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1000" required ${invalid} ${passwordFocus}>
</div>
<button type="submit">Sign in</button>
</form>`
}
