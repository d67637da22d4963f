import type { Context, Handler, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { type LevelsByAnswer, levelFor, type PageRoute, type pageNeeds } from '../../rules/page-needs.ts'
import { redirectToSignIn, tooLong } from './answers.ts'
import { withBar } from './bar.ts'
import { signedInAt } from './browser-session.ts'
import type { PageDependencies } from './dependencies.ts'
import type { FailurePageWrapper } from './failure.ts'
import { isForm, maxFormBytes } from './forms.ts'
import { oauthPageHeaders } from './oauth-headers.ts'
import { unprovenPage } from './proof.ts'

type LevelsOf<Need> = Need extends LevelsByAnswer ? Need['answers'][keyof Need['answers']] | Need['otherwise'] : Need

/**
 * The signed-in person that a handler gets. The type includes undefined if some requests to the route need no session.
 */
type PersonAt<Route extends PageRoute> =
  Extract<LevelsOf<(typeof pageNeeds)[Route]>, 'nothing' | 'secret'> extends never ? SignedIn : SignedIn | undefined

type Answer<Pages, Route extends PageRoute> = (
  c: Context,
  pages: Pages,
  signedIn: PersonAt<Route>,
) => Response | Promise<Response>

interface RouteOptions {
  /** The size limit of a form in bytes. A larger form never reaches the handler. */
  maxBytes?: number
  /** Responds to a form that exceeds the limit. */
  refuse?: (c: Context) => Response | Promise<Response>
  /** Returns the path to open after signing in; by default, the path of the request. */
  back?: (c: Context) => string
  /** Responds to a visitor who must sign in first. By default, the visitor is redirected to the sign-in page. */
  signedOut?: (c: Context) => Response
}

/** A function that mounts the handler of a page's route. */
export type Serve<Pages> = <Route extends PageRoute>(
  route: Route,
  answer: Answer<Pages, Route>,
  options?: RouteOptions,
) => void

/**
 * Returns a function that mounts the routes of pages. A route is a key of `pageNeeds`, which states whether the route
 * needs a session, proof of identity, a secret or nothing. The handler runs only for a person who has the needed
 * session or proof. If the route needs a secret, the handler itself checks it.
 */
export function pageRoutes<Pages extends PageDependencies>(
  app: Hono,
  pages: Pages,
  withFailurePage: FailurePageWrapper,
): Serve<Pages> {
  return (route, answer, { maxBytes = maxFormBytes, refuse = tooLong, back = pathOf, signedOut } = {}) => {
    const [method = '', path = ''] = route.split(' ')
    const handler: Handler = (c) =>
      withFailurePage(c, pages, async () => {
        const signInRedirect = () => signedOut?.(c) ?? redirectToSignIn(c, back(c))
        const admitted = await admit(c, pages, { route, back: back(c), signInRedirect })
        const { signedIn } = admitted
        // If the route needs a session, `admit` has made sure that `signedIn` is defined.
        const response =
          'refused' in admitted ? await admitted.refused : await answer(c, pages, signedIn as PersonAt<typeof route>)
        return signedIn === undefined ? response : withBar(response, pages, { signedIn, path: c.req.path })
      })
    const limit = bodyLimit({ maxSize: maxBytes, onError: refuse })
    app.on(method, [path], ...(method === 'POST' ? [limit, handler] : [handler]))
  }
}

type Admitted =
  | { signedIn: SignedIn | undefined }
  | { signedIn: SignedIn | undefined; refused: Response | Promise<Response> }

interface PageVisit {
  route: PageRoute
  back: string
  signInRedirect(): Response
}

/**
 * Admits a person who has the session or proof that the route needs. The need may depend on the answer in the submitted
 * form. For everyone else, returns a response that asks them to sign in.
 */
async function admit(
  c: Context,
  pages: PageDependencies,
  { route, back, signInRedirect }: PageVisit,
): Promise<Admitted> {
  const isPost = route.startsWith('POST ')
  const sent = new URLSearchParams(isPost && isForm(c) ? await c.req.text() : '')
  const level = levelFor(route, (field) => sent.get(field))
  if (level === 'nothing' || level === 'secret') return { signedIn: undefined }
  const signedIn = await signedInAt(c, pages)
  if (signedIn === undefined) return { signedIn, refused: signInRedirect() }
  if (level === 'session' || signedIn.isProven) return { signedIn }
  if (!isPost) return { signedIn, refused: signInRedirect() }
  pages.log.info({ route }, 'a form was refused because the session has no proof of identity')
  return { signedIn, refused: c.html(unprovenPage(signedIn, back), 403, oauthPageHeaders) }
}

const pathOf = (c: Context) => c.req.path
