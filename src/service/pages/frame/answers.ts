import type { Context } from 'hono'
import { equalSecrets } from '../../../core/system.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import type { PageDependencies } from './dependencies.ts'
import { failurePageWrapper } from './failure.ts'
import { messagePage } from './form-page.ts'
import { isForm, isOwnForm } from './forms.ts'
import { oauthPageHeaders } from './oauth-headers.ts'

export const withFailurePage = failurePageWrapper({ page: 'a sign-in or connection page', headers: oauthPageHeaders })

/** A function that responds to a request from a signed-in user. */
export type Show<Pages> = (c: Context, pages: Pages, signedIn: SignedIn) => Response | Promise<Response>
/** A function that handles a form from a signed-in user. */
export type Take<Pages> = (
  c: Context,
  pages: Pages,
  signedIn: SignedIn,
  sent: URLSearchParams,
) => Response | Promise<Response>

/**
 * Returns a handler that passes a form to `take` only if this site created the form for the signed-in user and for the
 * purpose that `purposeOf` returns. The handler refuses all other forms.
 */
export function ownForm<Pages extends PageDependencies>(
  purposeOf: (c: Context) => string,
  take: Take<Pages>,
  back?: string,
): Show<Pages> {
  return async (c, pages, signedIn) => {
    const sent = await ownFields(c, pages)
    const isShown = sent !== undefined && hasFormToken(signedIn, purposeOf(c), sent)
    return isShown ? take(c, pages, signedIn, sent) : refuseForeignForm(c, back ?? c.req.path)
  }
}

/** Redirects the browser to `path` with the status 303, so that a reload of the new page does not send a form again. */
export function redirectTo(c: Context, path: string): Response {
  return c.body(null, 303, { ...oauthPageHeaders, Location: path })
}

export function redirectToSignIn(c: Context, next: string): Response {
  return redirectTo(c, `/sign-in?next=${encodeURIComponent(next)}`)
}

/** Returns the fields of a form sent by a page of this site; undefined for any other request. */
export async function ownFields(c: Context, { publicUrl }: PageDependencies): Promise<URLSearchParams | undefined> {
  if (!isOwnForm(c, publicUrl()) || !isForm(c)) return undefined
  return new URLSearchParams(await c.req.text())
}

/** Returns whether the form has the token that this site gave this user for this purpose. */
export function hasFormToken(signedIn: SignedIn, purpose: string, sent: URLSearchParams): boolean {
  return equalSecrets(sent.get('formToken') ?? '', signedIn.formToken(purpose))
}

/**
 * Refuses a form from another site, or a form that belongs to a different user.
 * @param back The page where the person can start again.
 */
export function refuseForeignForm(c: Context, back: string) {
  const text =
    'This form was not sent from this page, or you have since signed in as a different user. Nothing was changed.'
  const link = { href: back, text: 'Open the page again' }
  return c.html(messagePage('Nothing was changed', text, link), 403, oauthPageHeaders)
}

export function tooLong(c: Context) {
  return c.html(messagePage('Nothing was changed', 'The form is too long.'), 400, oauthPageHeaders)
}
