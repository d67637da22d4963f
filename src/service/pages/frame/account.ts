import { html } from 'hono/html'
import { foreignName } from '../../../core/foreign-text.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import type { Html } from './document.ts'
import { formPage } from './form-page.ts'

/** The signed-in user's name and email address, and the token of the sign-out form. */
export interface Account {
  user: string
  email: string
  signOutToken: string
}

export function accountOf({ user: { name, email }, formToken }: SignedIn): Account {
  return {
    user: foreignName(name, 'A user without a name'),
    email: foreignName(email, 'without an address', 254),
    signOutToken: formToken('sign out'),
  }
}

export function accountSection({ user, email, signOutToken }: Account, signOutLabel: string, next?: string): Html {
  return html`<section aria-labelledby="account">
<h2 id="account">Your account</h2>
<p>Signed in as <bdi>${user}</bdi> (<bdi>${email}</bdi>)</p>
${signOutForm(signOutToken, signOutLabel, next)}
</section>`
}

/** Renders the form that ends the session. `next` is the page to open after the next sign-in. */
export function signOutForm(token: string, label: string, next?: string): Html {
  return html`<form method="post" action="/sign-out">
<input type="hidden" name="formToken" value="${token}">
${next === undefined ? '' : html`<input type="hidden" name="next" value="${next}">`}
<button type="submit" class="link">${label}</button>
</form>`
}

/**
 * Renders the page for an address that does not exist, or that the signed-in user may not open. A different user may be
 * allowed to open the address, so the page has a button to sign in as somebody else.
 */
export function notYoursPage(text: string, signedIn: SignedIn, next: string): Html {
  const heading = 'Not found'
  const main = html`<h1>${heading}</h1>
<p>${text}</p>
${accountSection(accountOf(signedIn), 'Sign in as a different user', next)}`
  return formPage({ title: heading, main })
}
