import { html } from 'hono/html'
import { foreignName } from '../../../core/foreign-text.ts'
import type { Html, PageForm } from '../frame/document.ts'
import { formPage, titleOf } from '../frame/form-page.ts'
import { isolatedText } from '../frame/texts.ts'
import type { ShownInvitation } from './join-page.ts'
import { longestName, longestPassword, shortestPassword } from './requests.ts'

/**
 * The name that the person typed before, and the problem with the form. The form shows the name again, but never the
 * password.
 */
export interface FilledForm {
  name: string
  problem: string | null
  invalid: 'name' | 'password' | null
}

interface PageState {
  form: PageForm
  filled: FilledForm
  /** The name of the browser's signed-in user; null if nobody is signed in. */
  signedInAs: string | null
}

/** Renders the page at a party invitation's `url`. The page has no script: the browser itself sends the forms. */
export function joinPage(invitation: ShownInvitation, { form, filled, signedInAs }: PageState): Html {
  const { status, role, isTaken } = invitation
  const party = foreignName(invitation.party, 'An account without a name', 200)
  const email = foreignName(invitation.email, 'an address', 254)
  const { heading, line } = statusTexts[status](isolatedText(party))
  const isOpen = status === 'PENDING'
  const main = html`<h1>${heading}</h1>
${filled.problem === null ? '' : html`<p class="problem" id="problem" role="alert">${filled.problem}</p>`}
${line === null ? '' : html`<p role="status" class="done">${line}</p>`}
<dl>
<div><dt>Account</dt><dd><bdi>${party}</bdi></dd></div>
<div><dt>Invited</dt><dd><bdi>${email}</bdi></dd></div>
<div><dt>Role</dt><dd>${roles[role]}</dd></div>
</dl>
${status === 'ACCEPTED' ? html`<p><a href="/sign-in">Sign in</a></p>` : ''}
${isOpen && isTaken ? html`<p class="warning"><bdi>${email}</bdi> already belongs to an account and can’t join another. Ask <bdi>${party}</bdi> to invite a different address.</p>` : ''}
${isOpen && !isTaken ? joinForm(form, filled, { email, signedInAs }) : ''}
${isOpen && invitation.mayDecline ? declineForm(form) : ''}
${isOpen && !invitation.mayDecline ? html`<p class="aside">To decline, <a href="/sign-in?next=${encodeURIComponent(form.action)}">sign in</a> as <bdi>${email}</bdi>.</p>` : ''}`
  return formPage({ title: titleOf(heading, filled.problem), main })
}

const roles = {
  ADMIN: 'Admin: acts for the account, and invites and removes people',
  MEMBER: 'Member: acts for the account, but can’t invite or remove people',
} as const satisfies Record<ShownInvitation['role'], string>

const statusTexts = {
  PENDING: (party) => ({ heading: `Join ${party}`, line: null }),
  ACCEPTED: (party) => ({
    heading: 'You joined',
    line: `Sign in with your email address and password to act for ${party}.`,
  }),
  DECLINED: (party) => ({
    heading: 'Declined',
    line: `You did not join ${party}. To join after all, ask for another invitation.`,
  }),
  EXPIRED: (party) => ({
    heading: 'Invitation expired',
    line: `To join ${party}, ask for another invitation.`,
  }),
  REVOKED: (party) => ({ heading: 'Invitation revoked', line: `${party} revoked the invitation.` }),
} as const satisfies Record<ShownInvitation['status'], (party: string) => { heading: string; line: string | null }>

interface Person {
  email: string
  signedInAs: string | null
}

function joinForm({ action, token }: PageForm, { name, invalid }: FilledForm, { email, signedInAs }: Person): Html {
  const state = (field: FilledForm['invalid']) =>
    invalid === field ? html` aria-invalid="true" aria-describedby="${field} problem" autofocus` : ''
  return html`<section aria-labelledby="join">
<h2 id="join">Join</h2>
<form method="post" action="${action}" novalidate>
<input type="hidden" name="formToken" value="${token}">
<div class="field">
<label for="name">Your name</label>
<input id="name" name="name" autocomplete="name" maxlength="${longestName}" required value="${name}"${state('name')}>
</div>
<div class="field">
<label for="email">Email</label>
<input id="email" type="email" value="${email}" autocomplete="username" readonly>
</div>
<div class="field">
<label for="password">Choose a password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${shortestPassword}" maxlength="${longestPassword}" required${state('password')}>
<p class="aside" id="rule">At least ${shortestPassword} characters.</p>
</div>
${signedInAs === null ? '' : html`<p class="aside">You are signed in as <bdi>${signedInAs}</bdi>. Joining signs you out of that account.</p>`}
<button type="submit" name="decision" value="accept" aria-describedby="rule">Join</button>
</form>
</section>`
}

function declineForm({ action, token }: PageForm): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="formToken" value="${token}">
<button type="submit" name="decision" value="decline" class="quiet">Decline</button>
</form>`
}
