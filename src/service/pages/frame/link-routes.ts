import type { Context } from 'hono'
import type { PageDependencies } from './dependencies.ts'
import { messagePage } from './form-page.ts'
import { isForm, isOwnForm } from './forms.ts'
import { formPageHeaders as headers } from './headers.ts'

interface LinkWords {
  /** Says that nothing is at the address. */
  missing: string
  /** The heading over why a form was not taken. */
  refusal: string
  /** The link back to the page. */
  again: string
}

type Told = Response | Promise<Response>

/** Returns the answers that every page has whose address somebody was sent, in the page's own words. */
export function linkRoutes({ missing, refusal, again }: LinkWords) {
  const refused = (c: Context, status: 400 | 403 | 409, text: string): Told =>
    c.html(messagePage(refusal, text, { href: c.req.path, text: again }), status, headers)
  return {
    notFound: (c: Context): Told => c.html(messagePage('Not found', missing), 404, headers),
    refused,
    refuse: (c: Context): Told => refused(c, 400, 'The form is too long.'),
    /** Returns the fields of a form of this site that decides as the page offers; a response tells why it is not taken. */
    sentForm: async (
      c: Context,
      { publicUrl }: PageDependencies,
      decisions: readonly string[],
      otherwise: string,
    ): Promise<URLSearchParams | Response> => {
      if (!isOwnForm(c, publicUrl())) return refused(c, 403, 'The answer did not come from this page.')
      const sent = new URLSearchParams(await c.req.text())
      return isForm(c) && decisions.includes(sent.get('decision') ?? '') ? sent : refused(c, 400, otherwise)
    },
  }
}

export function tokenOf(c: Context): string {
  return c.req.param('token') ?? ''
}

/** Leads to a page by GET: a reload repeats nothing. */
export function lead(c: Context, path: string = c.req.path): Response {
  return c.body(null, 303, { ...headers, Location: path })
}
