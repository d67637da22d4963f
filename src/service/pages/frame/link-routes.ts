import type { Context } from 'hono'
import type { PageDependencies } from './dependencies.ts'
import { messagePage } from './form-page.ts'
import { isForm, isOwnForm } from './forms.ts'
import { formPageHeaders as headers } from './headers.ts'

interface LinkWords {
  /** The message to show if there is nothing at the link's address. */
  missing: string
  /** The heading of the page that explains why a form was refused. */
  refusal: string
  /** The text of the link from the refusal page back to the form. */
  again: string
}

type Answer = Response | Promise<Response>

/** Creates the functions shared by all pages that people open from a link they received. */
export function linkRoutes({ missing, refusal, again }: LinkWords) {
  const refusalPage = (c: Context, status: 400 | 403 | 409, text: string): Answer =>
    c.html(messagePage(refusal, text, { href: c.req.path, text: again }), status, headers)
  return {
    notFound: (c: Context): Answer => c.html(messagePage('Not found', missing), 404, headers),
    refused: refusalPage,
    refuse: (c: Context): Answer => refusalPage(c, 400, 'The form is too long.'),
    /**
     * Returns the fields of a form that a page of this site sent, if the form's `decision` is one of `decisions`.
     * Otherwise, returns a page that explains the refusal. It shows the text `problem` if the decision is missing or
     * unknown.
     */
    sentForm: async (
      c: Context,
      { publicUrl }: PageDependencies,
      decisions: readonly string[],
      problem: string,
    ): Promise<URLSearchParams | Response> => {
      if (!isOwnForm(c, publicUrl())) return refusalPage(c, 403, 'This form was not sent from this page.')
      const sent = new URLSearchParams(await c.req.text())
      return isForm(c) && decisions.includes(sent.get('decision') ?? '') ? sent : refusalPage(c, 400, problem)
    },
  }
}

export function tokenOf(c: Context): string {
  return c.req.param('token') ?? ''
}

/** Redirects the browser to `path` with the status 303, so that a reload of the new page does not send a form again. */
export function redirect(c: Context, path: string = c.req.path): Response {
  return c.body(null, 303, { ...headers, Location: path })
}
