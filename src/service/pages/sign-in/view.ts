import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'
import { formPage, titleOf } from '../frame/form-page.ts'
import { howToProve, oneClickWords, passwordForm } from '../frame/proof.ts'

interface SignInState {
  /** The local path to open after signing in. */
  next: string
  email: string
  problem: string | null
  /** The name of the user who can sign in with one click; null if nobody can. */
  owner: string | null
  /** Whether the person signed in with one click and must now prove who they are. */
  isUnproven: boolean
  /** Whether the visitor is on the sandbox's machine. If so, the page explains how to get the password or a link. */
  isLocal: boolean
}

/** Renders the sign-in page. The page contains no JavaScript. */
export function signInPage(state: SignInState): Html {
  const { next, email, problem, owner, isUnproven, isLocal } = state
  const heading = isUnproven ? 'Confirm that it is you' : 'Sign in'
  const main = html`<h1>${heading}</h1>
${isUnproven ? html`<p class="warning">${oneClickWords} For anything other than viewing and declining, you need your password.</p>` : ''}
${passwordForm({ next, email, problem })}
${isLocal ? html`<p class="aside">${howToProve}</p>` : ''}
${owner === null ? '' : ownerForm(next, owner)}`
  return formPage({ title: titleOf(heading, problem), main })
}

function ownerForm(next: string, owner: string): Html {
  return html`<p class="or">or view and decline without a password</p>
<form method="post" action="/sign-in">
<input type="hidden" name="next" value="${next}">
<button type="submit" name="as" value="owner" class="quiet" aria-describedby="one-click">Continue as <bdi>${owner}</bdi></button>
<p class="aside" id="one-click">On this machine, you can view and decline without a password. To approve, pay or see card numbers, you need one.</p>
</form>`
}

/** Renders the page that a one-time link opens. The link is used up only when the page's form is submitted. */
export function linkPage(user: string, { action, next }: { action: string; next: string }): Html {
  const heading = 'Sign in'
  const main = html`<h1>${heading}</h1>
<p>This link signs you in once, on this browser.</p>
<form method="post" action="${action}">
<input type="hidden" name="next" value="${next}">
<button type="submit" autofocus>Sign in as <bdi>${user}</bdi></button>
</form>`
  return formPage({ title: heading, main })
}

/** Renders the page for a one-time link that was already used or has expired. */
export function endedLinkPage(next: string): Html {
  const heading = 'This link has expired'
  const main = html`<h1>${heading}</h1>
<p>A sign-in link works once and expires after 10 minutes. To get a new one, run <code>payments-mcp console</code> or restart the sandbox in a terminal.</p>
<p><a href="/sign-in?next=${encodeURIComponent(next)}">Sign in with your password</a></p>`
  return formPage({ title: heading, main })
}
