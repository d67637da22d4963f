import { html } from 'hono/html'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { shortText } from '../frame/application-words.ts'
import { type Html, messageBody, pageDocument, sandboxBanner } from '../frame/document.ts'

interface SignInShown {
  /** Where the person goes then, a path of this site. */
  next: string
  email: string
  problem: string | null
  /** Who can sign in with one click; null: nobody. */
  owner: string | null
  sandbox: boolean
}

/** The page where a person signs in. It has no script: the browser sends the form. */
export function signInPage({ next, email, problem, owner, sandbox }: SignInShown): Html {
  const heading = 'Sign in'
  return oauthDocument(
    problem === null ? heading : `Error: ${heading}`,
    html`${sandboxBanner(sandbox)}
<main>
<h1>${heading}</h1>
${owner === null ? '' : ownerForm(next, owner)}
${passwordForm(next, email, problem)}
</main>`,
  )
}

/** A page that says one thing. */
export function oauthMessage(heading: string, text: string, link?: { href: string; text: string }): Html {
  return oauthDocument(heading, messageBody(heading, text, link))
}

export function oauthDocument(title: string, body: Html): Html {
  return pageDocument({ title, styles: ['/connect/style.css', '/oauth/style.css'], body })
}

/** Who is signed in, in words, and what their form to sign out carries. */
export interface Account {
  user: string
  email: string
  signOutToken: string
}

export function accountOf({ user: { name, email }, formToken }: SignedIn): Account {
  return { user: shortText(name), email: shortText(email, 254), signOutToken: formToken('sign out') }
}

export function accountSection({ user, email, signOutToken }: Account, signOut: string, next?: string): Html {
  return html`<section class="account" aria-labelledby="account">
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

function ownerForm(next: string, owner: string): Html {
  return html`<form method="post" action="/sign-in">
<input type="hidden" name="next" value="${next}">
<p class="aside" id="one-click">In the sandbox on this machine nobody is asked for a password.</p>
<button type="submit" name="as" value="owner" aria-describedby="one-click">Continue as <bdi>${owner}</bdi></button>
</form>
<p class="or">or with a password</p>`
}

function passwordForm(next: string, email: string, problem: string | null): Html {
  const wrong = problem === null ? '' : html`aria-invalid="true" aria-describedby="problem"`
  const [atEmail, atPassword] =
    problem === null ? ['', ''] : email === '' ? [html`autofocus`, ''] : ['', html`autofocus`]
  return html`<form method="post" action="/sign-in" novalidate>
<input type="hidden" name="next" value="${next}">
${problem === null ? '' : html`<p class="problem" id="problem" role="alert">${problem}</p>`}
<div class="field">
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="254" required value="${email}" ${wrong} ${atEmail}>
</div>
<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1000" required ${wrong} ${atPassword}>
</div>
<button type="submit">Sign in</button>
</form>`
}
