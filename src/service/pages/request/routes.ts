import type { Context, Hono } from 'hono'
import { Failure } from '../../../core/errors.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { callerOf } from '../../request/client-address.ts'
import { asUser } from '../../request/in-process.ts'
import type { Dependencies } from '../../request/pipeline.ts'
import { accountOf } from '../frame/account.ts'
import { hasFormToken } from '../frame/answers.ts'
import { signedInAt } from '../frame/browser-session.ts'
import type { DeclinesByAddress } from '../frame/declines-by-address.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { linkRoutes, redirect, tokenOf } from '../frame/link-routes.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { detailOf, statusOf } from '../frame/refusals.ts'
import { createPaymentRequestPages, type Outcome, type PaymentRequestPages, type ShownRequest } from './request-page.ts'
import { cardOf, fieldOf } from './requests.ts'
import { type FormProblems, requestPage } from './view.ts'
import { requestWords } from './words.ts'

interface RequestDependencies extends Dependencies, PageDependencies {
  requests: PaymentRequestPages
  declines: DeclinesByAddress
}

/**
 * Mounts the page at a payment request's link, where the payer pays or declines
 * (docs/service.md#page-of-a-payment-request).
 */
export function mountPaymentRequests(
  app: Hono,
  dependencies: Dependencies & PageDependencies,
  declines: DeclinesByAddress,
): void {
  const pages: RequestDependencies = { ...dependencies, requests: createPaymentRequestPages(dependencies), declines }
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /request/:token', showPage)
  serve('POST /request/:token', takeForm, { refuse })
}

const {
  notFound,
  refused: refusalPage,
  refuse,
  sentForm,
} = linkRoutes({
  missing: 'There is no payment request at this address. Check the link, or ask for a new one.',
  refusal: 'Nothing was paid',
  again: 'Open the payment request',
})

const withFailurePage = failurePageWrapper({ page: "a payment request's page", headers })

async function showPage(c: Context, pages: RequestDependencies): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  const request = await pages.requests.open(tokenOf(c), signedIn?.user)
  return request === undefined ? notFound(c) : show(c, pages, { request, signedIn })
}

async function takeForm(c: Context, pages: RequestDependencies): Promise<Response> {
  const sent = await sentForm(
    c,
    pages,
    ['card', 'wallet', 'decline'],
    'The form lacks your decision to pay or decline.',
  )
  if (sent instanceof Response) return sent
  const signedIn = await signedInAt(c, pages)
  const request = await pages.requests.open(tokenOf(c), signedIn?.user)
  if (request === undefined) return notFound(c)
  const input = { request, signedIn, sent }
  const decision = sent.get('decision')
  if (request.answerer === 'nobody') return refusalPage(c, 403, 'Sign in as a user of the payer’s account.')
  if (decision === 'card')
    return request.answerer === 'own user' ? payByCardAsUser(c, pages, input) : payByCard(c, pages, input)
  if (decision === 'wallet') return answerAsPayer(c, pages, { ...input, decision })
  if (request.viewer?.relation !== 'payer') return decline(c, pages, input)
  return answerAsPayer(c, pages, { ...input, decision: 'decline' })
}

interface Input {
  request: ShownRequest
  signedIn: SignedIn | undefined
  sent: URLSearchParams
}

/** Charges a card for a user of the payer's party. A one-click sign-in does not suffice (`SignedIn.isProven`). */
async function payByCardAsUser(c: Context, pages: RequestDependencies, input: Input): Promise<Response> {
  const { request, signedIn, sent } = input
  if (signedIn === undefined || !isPersonTokenValid(signedIn, request, sent)) {
    return refusalPage(c, 403, 'You are not signed in as the user who opened this form.')
  }
  if (!signedIn.isProven) return refusalPage(c, 403, 'To pay, sign in with your password.')
  return payByCard(c, pages, input)
}

async function payByCard(c: Context, pages: RequestDependencies, input: Input): Promise<Response> {
  const address = callerOf(c)?.address
  return runOrExplain(c, pages, input, async () => {
    pages.declines.requireFew(address)
    const paying = { card: cardOf(input.sent), user: input.signedIn?.user }
    const outcome = await pages.requests.payByCard(tokenOf(c), formTokenOf(input), paying)
    if (outcome === 'declined' && pages.declines.count(address)) {
      pages.log.warn({ address }, 'the address is paused: too many declined cards')
    }
    return outcome
  })
}

function decline(c: Context, pages: RequestDependencies, input: Input): Promise<Response> {
  return runOrExplain(c, pages, input, () => pages.requests.decline(tokenOf(c), formTokenOf(input)))
}

/** Carries out the decision of the payer's signed-in user as an API request, so that limits and approvals apply. */
async function answerAsPayer(
  c: Context,
  pages: RequestDependencies,
  { decision, ...input }: Input & { decision: 'wallet' | 'decline' },
): Promise<Response> {
  const { request, signedIn, sent } = input
  const isOwn = signedIn !== undefined && isPersonTokenValid(signedIn, request, sent)
  if (!isOwn || request.viewer?.relation !== 'payer')
    return refusalPage(c, 403, 'You are not signed in as the user who opened this form.')
  // A double click, or a form in another tab, may have paid or declined the request already.
  if (request.status !== 'OPEN') return redirect(c)
  const params = { paymentRequestId: request.id }
  const paymentSource = { type: 'wallet', walletId: sent.get('walletId') ?? '' }
  const reply =
    decision === 'wallet'
      ? await asUser(pages, signedIn.user, 'fulfillPaymentRequest', { params, attributes: { paymentSource } })
      : await asUser(pages, signedIn.user, 'declinePaymentRequest', { params })
  if (reply.status < 300) return redirect(c)
  const now = await pages.requests.open(tokenOf(c), signedIn.user)
  if (now !== undefined && now.status !== 'OPEN') return redirect(c)
  const refusal = { problem: `Nothing was paid. ${detailOf(reply)}`, fields: {} }
  return show(c, pages, { request: now ?? request, signedIn, refused: refusal, status: statusOf(reply) })
}

/**
 * Runs `work`, then redirects to the page, which shows the result. If `work` refuses the form, responds with the
 * reason.
 */
async function runOrExplain(
  c: Context,
  pages: RequestDependencies,
  { request, signedIn }: Input,
  work: () => Promise<Outcome | undefined>,
): Promise<Response> {
  try {
    const outcome = await work()
    if (outcome === undefined) return notFound(c)
    pages.log.debug({ paymentRequest: outcome }, 'answered')
    return redirect(c)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { status } = error
    if (status === 403) return refusalPage(c, 403, error.message)
    if (status !== 409 && status !== 422 && status !== 429) throw error
    const field = fieldOf(error)
    const problem = field === undefined ? { problem: `Nothing was paid. ${error.message}`, fields: {} } : undefined
    const fields = field === undefined ? {} : { [field]: error.message }
    return show(c, pages, { request, signedIn, refused: problem ?? { problem: null, fields }, status })
  }
}

interface PageState {
  request: ShownRequest
  signedIn: SignedIn | undefined
  refused?: FormProblems
  status?: 200 | 409 | 422 | 429 | ReturnType<typeof statusOf>
}

function show(c: Context, pages: RequestDependencies, { request, signedIn, ...state }: PageState) {
  const { refused: notice = { problem: null, fields: {} }, status = 200 } = state
  const forms = {
    action: c.req.path,
    token: request.formToken,
    personToken: signedIn?.formToken(purposeOf(request)) ?? null,
    mayAgree: signedIn?.isProven === true,
    account: signedIn === undefined ? null : accountOf(signedIn),
  }
  const sandbox = pages.environment === 'sandbox'
  return c.html(requestPage(request, requestWords(request), { forms, refused: notice, sandbox }), status, headers)
}

function purposeOf({ id }: ShownRequest): string {
  return `payment request ${id}`
}

function isPersonTokenValid(signedIn: SignedIn, request: ShownRequest, sent: URLSearchParams): boolean {
  const fields = new URLSearchParams({ formToken: sent.get('personToken') ?? '' })
  return hasFormToken(signedIn, purposeOf(request), fields)
}

function formTokenOf({ sent }: Input): string {
  return sent.get('formToken') ?? ''
}
