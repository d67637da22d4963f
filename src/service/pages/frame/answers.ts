import type { Context } from 'hono'
import { equalSecrets } from '../../../core/system.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { oauthMessage } from '../sign-in/view.ts'
import type { SessionPages } from './browser-session.ts'
import { failingAs } from './failure.ts'
import { isForm, isOwnForm } from './forms.ts'
import { oauthPageHeaders } from './oauth-headers.ts'

export const orFailure = failingAs({
  page: 'a page of signing in or connecting',
  message: oauthMessage,
  headers: oauthPageHeaders,
})

/** Leads to a page by GET: a reload repeats nothing. */
export function leadTo(c: Context, path: string): Response {
  return c.body(null, 303, { ...oauthPageHeaders, Location: path })
}

export function leadToSignIn(c: Context, next: string): Response {
  return leadTo(c, `/sign-in?next=${encodeURIComponent(next)}`)
}

/** The fields of a form that a page of this site sent; undefined: it is not one. */
export async function ownFields(c: Context, { publicUrl }: SessionPages): Promise<URLSearchParams | undefined> {
  if (!isOwnForm(c, publicUrl()) || !isForm(c)) return undefined
  return new URLSearchParams(await c.req.text())
}

/** Whether the form was shown to this person, for this purpose. */
export function hasFormToken(signedIn: SignedIn, purpose: string, sent: URLSearchParams): boolean {
  return equalSecrets(sent.get('formToken') ?? '', signedIn.formToken(purpose))
}

/** @param back The page to start from again. */
export function notFromHere(c: Context, back: string) {
  const text = 'The answer did not come from this page, or you signed in as somebody else since. Nothing was changed.'
  const link = { href: back, text: 'Open the page again' }
  return c.html(oauthMessage('Nothing was changed', text, link), 403, oauthPageHeaders)
}

export function tooLong(c: Context) {
  return c.html(oauthMessage('Nothing was changed', 'The form is too long.'), 400, oauthPageHeaders)
}
