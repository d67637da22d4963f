import type { Context, Hono } from 'hono'
import { approvalPagePath } from '../../../../tools/approvals.ts'
import { answerIn, decisionPath } from '../../../core/held-call.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { type ApprovalReviews, createApprovalReviews } from '../../operations/steps/review-approval.ts'
import type { ReportEntry } from '../../rules/runs.ts'
import { accountOf, notYoursPage } from '../frame/account.ts'
import { ownForm, redirectTo, refuseForeignForm, type Show, type Take, withFailurePage } from '../frame/answers.ts'
import { approvalWords } from '../frame/approval-words.ts'
import { decisionWords } from '../frame/decision-words.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { createDecisionReviews, type DecisionReview, type DecisionReviews } from './review.ts'
import { afterDecision, decisionForm, decisionPage, decisionsPage, lateWords } from './view.ts'
import { contextFactsOf } from './words.ts'

interface DecideDependencies extends PageDependencies {
  reviews: DecisionReviews
  approvals: ApprovalReviews
}

/** The page of pending decisions shows at most this many calls, and at most this many payments in review. */
const maxShown = 20

/** Mounts the page where a person decides on a model's call, and the page that lists all pending decisions. */
export function mountDecisionPages(app: Hono, dependencies: PageDependencies & { reportEntry: ReportEntry }): void {
  const pages: DecideDependencies = {
    ...dependencies,
    reviews: createDecisionReviews(dependencies),
    approvals: createApprovalReviews(dependencies),
  }
  const takeForm = ownForm((c) => purposeOf(idOf(c)), takeDecision)
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /decisions', showAll)
  serve('GET /decide/:decisionId', showDecision)
  serve('POST /decide/:decisionId', takeForm)
}

const showDecision: Show<DecideDependencies> = async (c, pages, signedIn) => {
  const review = await pages.reviews.open(idOf(c), signedIn.user)
  return review === undefined ? notFound(c, signedIn) : show(c, { signedIn, review })
}

const takeDecision: Take<DecideDependencies> = async (c, pages, signedIn, sent) => {
  const { reviews, log } = pages
  const review = await reviews.open(idOf(c), signedIn.user)
  if (review === undefined) return notFound(c, signedIn)
  const answer = answerIn(sent)
  if (answer === undefined) return refuseForeignForm(c, c.req.path)
  if (await reviews.decide(review.id, signedIn.user, answer)) {
    log.info({ decision: answer, decisionId: review.id }, 'a call was decided on')
    return redirectTo(c, c.req.path)
  }
  const after = (await reviews.open(review.id, signedIn.user)) ?? review
  // The same answer is already recorded, for example by the first request of a double click.
  if (after.state === answer) return redirectTo(c, c.req.path)
  return show(c, { signedIn, review: after, problem: lateWords, status: 409 })
}

const showAll: Show<DecideDependencies> = async (c, pages, signedIn) => {
  const { user, formToken } = signedIn
  const [decisions, approvals] = [
    await pages.reviews.waiting(user, maxShown + 1),
    await pages.approvals.waiting(user, maxShown + 1),
  ]
  const page = decisionsPage({
    decisions: decisions.slice(0, maxShown).map((review) => ({
      words: decisionWords(review),
      contextFacts: contextFactsOf(review),
      form: { action: decisionPath(review.id), token: formToken(purposeOf(review.id)) },
    })),
    approvals: approvals.slice(0, maxShown).map((review) => ({
      words: approvalWords(review),
      form: { action: approvalPagePath(review.id), token: formToken(`approval ${review.id}`) },
    })),
    hasMore: decisions.length > maxShown || approvals.length > maxShown,
    mayAgree: signedIn.isProven,
  })
  return c.html(page, 200, headers)
}

interface PageState {
  signedIn: SignedIn
  review: DecisionReview
  problem?: string
  status?: 200 | 409
}

function show(c: Context, { signedIn, review, problem, status = 200 }: PageState) {
  const words = decisionWords(review)
  const form = { action: c.req.path, token: signedIn.formToken(purposeOf(review.id)) }
  const page = decisionPage({
    words,
    contextFacts: contextFactsOf(review),
    form: decisionForm(words, form, signedIn.isProven),
    after: afterDecision(accountOf(signedIn), form.action),
    problem: problem ?? null,
  })
  return c.html(page, status, headers)
}

function notFound(c: Context, signedIn: SignedIn) {
  const text = 'There is nothing to decide at this address. Check the link, or ask your assistant again.'
  return c.html(notYoursPage(text, signedIn, c.req.path), 404, headers)
}

const idOf = (c: Context) => c.req.param('decisionId') ?? ''
const purposeOf = (id: string) => `decision ${id}`
