import type { Context, Hono } from 'hono'
import { Failure } from '../../../core/errors.ts'
import { signedInAt } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { refusalOf, visitorOf } from '../frame/link-answers.ts'
import { linkRoutes, redirect, tokenOf } from '../frame/link-routes.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { type Connect, createConnect, type Decision } from './invitation.ts'
import { connectPage } from './view.ts'
import { connectWords } from './words.ts'

interface ConnectDependencies extends PageDependencies {
  connect: Connect
}

/** Mounts the page at an invitation's `url`, and the handler of the page's form. */
export function mountConnect(app: Hono, dependencies: PageDependencies): void {
  const pages: ConnectDependencies = { ...dependencies, connect: createConnect(dependencies) }
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /connect/:token', showPage)
  serve('POST /connect/:token', takeAnswer, { refuse })
}

async function showPage(c: Context, pages: ConnectDependencies): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  const invitation = await pages.connect.open(tokenOf(c), signedIn?.user)
  if (invitation === undefined) return notFound(c)
  const visitor = visitorOf(c, pages, invitation, signedIn)
  return c.html(connectPage(connectWords(invitation), visitor), 200, headers)
}

async function takeAnswer(c: Context, pages: ConnectDependencies): Promise<Response> {
  const sent = await sentForm(
    c,
    pages,
    ['accept', 'decline'] satisfies Decision[],
    'The form lacks your decision to accept or decline.',
  )
  if (sent instanceof Response) return sent
  const decision = sent.get('decision') as Decision
  const signedIn = await signedInAt(c, pages)
  const invitation = await pages.connect.open(tokenOf(c), signedIn?.user)
  if (invitation === undefined) return notFound(c)
  const refusal = refusalOf(c, pages, invitation.answerer, { signedIn, sent, isYes: decision === 'accept' })
  if (refusal !== undefined) return refusalPage(c, 403, refusal)
  const form = { formToken: sent.get('formToken') ?? '', decision, user: signedIn?.user }
  const answered = await pages.connect.answer(tokenOf(c), form)
  if (answered === undefined) return notFound(c)
  pages.log.debug({ connect: decision, invitation: answered.status }, 'answered')
  return redirect(c)
}

export const {
  notFound,
  refused: refusalPage,
  refuse,
  sentForm,
} = linkRoutes({
  missing: 'There is no invitation at this address. Check the link, or ask for a new one.',
  refusal: 'Not answered',
  again: 'Open the invitation',
})

type Refuse = (c: Context, status: 403 | 409, text: string) => Response | Promise<Response>

const orFailed = failurePageWrapper({ page: 'a connect page', headers })

/**
 * Returns a wrapper for the pages' handlers. If the service refuses the person's answer, `refuse` shows the reason.
 * After any other failure, an error page without details is shown.
 */
export function orRefusal(refuse: Refuse) {
  return (c: Context, pages: PageDependencies, show: () => Promise<Response>): Promise<Response> =>
    orFailed(c, pages, async () => {
      try {
        return await show()
      } catch (error) {
        if (!(error instanceof Failure) || (error.status !== 403 && error.status !== 409)) throw error
        return refuse(c, error.status, error.message)
      }
    })
}

export const withFailurePage = orRefusal(refusalPage)
