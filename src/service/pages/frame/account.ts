import { html } from 'hono/html'
import { foreignName } from '../../../core/foreign-text.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import type { Html } from './document.ts'
import { formPage } from './form-page.ts'

/** Who is signed in, in words, and what their form to sign out carries. */
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

export function accountSection({ user, email, signOutToken }: Account, signOut: string, next?: string): Html {
  return html`<section aria-labelledby="account">
<h2 id="account">Your account</h2>
<p>Signed in as <bdi>${user}</bdi> (<bdi>${email}</bdi>)</p>
${signOutForm(signOutToken, signOut, next)}
</section>`
}

/** Ends the session; the person goes on to `next` as whom they sign in then. */
export function signOutForm(token: string, text: string, next?: string): Html {
  return html`<form method="post" action="/sign-out">
<input type="hidden" name="formToken" value="${token}">
${next === undefined ? '' : html`<input type="hidden" name="next" value="${next}">`}
<button type="submit" class="link">${text}</button>
</form>`
}

/** Says that nothing is there for the person who is signed in: somebody else may be meant, who signs in here. */
export function notYoursPage(text: string, signedIn: SignedIn, next: string): Html {
  const heading = 'Not found'
  const main = html`<h1>${heading}</h1>
<p>${text}</p>
${accountSection(accountOf(signedIn), 'Sign in as somebody else', next)}`
  return formPage({ title: heading, main })
}
