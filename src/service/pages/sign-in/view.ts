import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'
import { formPage, titleOf } from '../frame/form-page.ts'

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
  const main = html`<h1>${heading}</h1>
${owner === null ? '' : ownerForm(next, owner)}
${passwordForm(next, email, problem)}`
  return formPage({ title: titleOf(heading, problem), main, sandbox })
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
