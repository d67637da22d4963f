import type { Context, Hono } from 'hono'
import { Failure } from '../../../core/errors.ts'
import { foreignName } from '../../../core/foreign-text.ts'
import { hashOfPassword, type SignedIn } from '../../oauth/sign-in.ts'
import { placeOf, signedInAt, startSession } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { linkRoutes, redirect, tokenOf } from '../frame/link-routes.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { createPartyInvitationPages, type PartyInvitationPages, type ShownInvitation } from './join-page.ts'
import { joinEntryOf } from './requests.ts'
import { type FilledForm, joinPage } from './view.ts'

interface JoinDependencies extends PageDependencies {
  invitations: PartyInvitationPages
}

/**
 * Mounts the page at a party invitation's link, where the invited person joins or declines
 * (docs/service.md#page-of-a-party-invitation).
 */
export function mountJoin(app: Hono, dependencies: PageDependencies): void {
  const pages: JoinDependencies = { ...dependencies, invitations: createPartyInvitationPages(dependencies) }
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /join/:token', showPage)
  serve('POST /join/:token', takeForm, { refuse })
}

const {
  notFound,
  refused: refusalPage,
  refuse,
  sentForm,
} = linkRoutes({
  missing: 'There is no invitation at this address. Check the link, or ask for a new one.',
  refusal: 'Nothing was changed',
  again: 'Open the invitation',
})

const withFailurePage = failurePageWrapper({ page: "a party invitation's page", headers })

async function showPage(c: Context, pages: JoinDependencies): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  const invitation = await pages.invitations.open(tokenOf(c), signedIn?.user)
  return invitation === undefined ? notFound(c) : show(c, { invitation, signedIn, filled: empty })
}

const empty: FilledForm = { name: '', problem: null, invalid: null }

async function takeForm(c: Context, pages: JoinDependencies): Promise<Response> {
  const sent = await sentForm(c, pages, ['accept', 'decline'], 'The form lacks your decision to join or decline.')
  if (sent instanceof Response) return sent
  const signedIn = await signedInAt(c, pages)
  const invitation = await pages.invitations.open(tokenOf(c), signedIn?.user)
  if (invitation === undefined) return notFound(c)
  try {
    return await (sent.get('decision') === 'accept' ? join : decline)(c, pages, { invitation, signedIn, sent })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.status === 403) return refusalPage(c, 403, error.message)
    if (error.status !== 409) throw error
    return show(c, { invitation, signedIn, filled: { ...empty, problem: error.message }, status: 409 })
  }
}

interface Input {
  invitation: ShownInvitation
  signedIn: SignedIn | undefined
  sent: URLSearchParams
}

/** Accepts the invitation and signs the new user in. The sign-in ends the browser's previous session. */
async function join(c: Context, pages: JoinDependencies, { invitation, signedIn, sent }: Input): Promise<Response> {
  const formToken = sent.get('formToken') ?? ''
  const { name, password, firstProblem } = joinEntryOf(sent)
  const isShown = await pages.invitations.isShown(tokenOf(c), formToken)
  if (isShown && firstProblem !== null) {
    const filled = { name, problem: firstProblem.problem, invalid: firstProblem.field }
    return show(c, { invitation, signedIn, filled, status: 422 })
  }
  // Hashing is slow, so it is skipped if the invitation has changed: `accept` then does nothing with the hash.
  const passwordHash = isShown ? await hashOfPassword(password, pages.system) : ''
  const outcome = await pages.invitations.accept(tokenOf(c), formToken, { name, passwordHash })
  if (outcome === undefined) return notFound(c)
  if (outcome !== 'joined') return redirect(c, c.req.path)
  pages.log.info({ join: outcome }, 'somebody joined a party')
  const begun = await pages.signIn.byPassword(invitation.email, password, placeOf(c, pages))
  if (typeof begun === 'string') return redirect(c, c.req.path)
  await startSession(c, pages, begun)
  return redirect(c, '/connections')
}

async function decline(
  c: Context,
  { invitations, log }: JoinDependencies,
  { signedIn, sent }: Input,
): Promise<Response> {
  const outcome = await invitations.decline(tokenOf(c), sent.get('formToken') ?? '', signedIn?.user)
  if (outcome === undefined) return notFound(c)
  log.debug({ join: outcome }, 'answered')
  return redirect(c, c.req.path)
}

interface PageState {
  invitation: ShownInvitation
  signedIn: SignedIn | undefined
  filled: FilledForm
  status?: 200 | 409 | 422
}

function show(c: Context, { invitation, signedIn, filled, status = 200 }: PageState) {
  const page = joinPage(invitation, {
    form: { action: c.req.path, token: invitation.formToken },
    filled,
    signedInAs: signedIn === undefined ? null : foreignName(signedIn.user.name, 'a user without a name', 200),
  })
  return c.html(page, status, headers)
}
