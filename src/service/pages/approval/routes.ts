import type { Context, Hono } from 'hono'
import { foreignName, foreignText } from '../../../core/foreign-text.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import {
  type ApprovalReview,
  type ApprovalReviews,
  createApprovalReviews,
} from '../../operations/steps/review-approval.ts'
import { asUser } from '../../request/in-process.ts'
import type { Dependencies } from '../../request/pipeline.ts'
import type { Reply } from '../../request/reply.ts'
import { notYoursPage } from '../frame/account.ts'
import { ownForm, redirectTo, refuseForeignForm, type Show, type Take, withFailurePage } from '../frame/answers.ts'
import { approvalWords } from '../frame/approval-words.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { detailOf, statusOf } from '../frame/refusals.ts'
import { approvalPage, maxReasonLength } from './view.ts'

interface ApprovalDependencies extends Dependencies, PageDependencies {
  reviews: ApprovalReviews
}

/**
 * The size limit of a form, in bytes. The longest reason fits, because a form encodes each UTF-16 code unit in at most
 * nine bytes.
 */
const maxBytes = 8 * 1024

/**
 * Mounts the page where a person approves or denies a payment. The person must be signed in, so that a model cannot
 * decide.
 */
export function mountApprovalPages(app: Hono, dependencies: Dependencies & PageDependencies): void {
  const pages: ApprovalDependencies = { ...dependencies, reviews: createApprovalReviews(dependencies) }
  const takeForm = ownForm(purposeOf, takeDecision)
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /approvals/:approvalId/review', openReview)
  serve('POST /approvals/:approvalId/review', takeForm, { maxBytes })
}

const openReview: Show<ApprovalDependencies> = async (c, pages, signedIn) => {
  const review = await reviewOf(c, pages, signedIn)
  return review === undefined ? notFound(c, signedIn) : show(c, { signedIn, review })
}

const takeDecision: Take<ApprovalDependencies> = async (c, pages, signedIn, sent) => {
  const review = await reviewOf(c, pages, signedIn)
  if (review === undefined) return notFound(c, signedIn)
  const decision = sent.get('decision')
  if (decision !== 'approve' && decision !== 'deny') return refuseForeignForm(c, c.req.path)
  const reason = foreignText(sent.get('reason') ?? '').trim()
  if (decision === 'deny' && reason.length > maxReasonLength) {
    return show(c, { signedIn, review, reason, problem: problems.long, wrongReason: true, status: 422 })
  }
  const reply = await decide(pages, signedIn, { id: review.id, decision, reason })
  if (reply.status === 428) {
    const challenge = await pages.reviews.challenge(signedIn.user)
    return redirectTo(c, `/verify/${challenge}?back=${encodeURIComponent(c.req.path)}`)
  }
  if (reply.status === 200) return redirectTo(c, c.req.path)
  return showRefusal(c, pages, { signedIn, decision, reason, reply })
}

function decide(
  pages: ApprovalDependencies,
  { user }: SignedIn,
  { id, decision, reason }: { id: string; decision: Decision; reason: string },
): Promise<Reply> {
  const params = { approvalId: id }
  if (decision === 'approve') return asUser(pages, user, 'approveApproval', { params })
  return asUser(pages, user, 'denyApproval', { params, attributes: reason === '' ? {} : { reason } })
}

type Decision = 'approve' | 'deny'

interface Refused {
  signedIn: SignedIn
  decision: Decision
  reason: string
  reply: Reply
}

const outcomes = { approve: 'approved', deny: 'denied' } as const satisfies Record<Decision, ApprovalReview['status']>

/**
 * Shows why the decision had no effect, for example because someone else decided first. If the payment already has the
 * chosen outcome, for example after a double click, shows that outcome instead.
 */
async function showRefusal(c: Context, pages: ApprovalDependencies, { signedIn, decision, reason, reply }: Refused) {
  const review = await reviewOf(c, pages, signedIn)
  if (review === undefined) return notFound(c, signedIn)
  if (review.status === outcomes[decision]) return redirectTo(c, c.req.path)
  const problem = review.status === 'pending' ? `Nothing was done. ${detailOf(reply)}` : problems.late
  return show(c, { signedIn, review, reason, problem, status: statusOf(reply) })
}

const problems = {
  long: `Nothing was done. Shorten the reason to at most ${maxReasonLength} characters.`,
  late: 'This payment was already approved, denied or canceled. Your answer had no effect.',
} as const

interface PageState {
  signedIn: SignedIn
  review: ApprovalReview
  reason?: string
  problem?: string
  wrongReason?: boolean
  status?: 200 | 422 | ReturnType<typeof statusOf>
}

function show(c: Context, state: PageState) {
  const { signedIn, review, reason = '', problem = null, wrongReason = false, status = 200 } = state
  const { user, formToken } = signedIn
  const form = {
    action: c.req.path,
    token: formToken(purposeOf(c)),
    user: foreignName(user.name, 'A user without a name'),
    reason,
  }
  return c.html(
    approvalPage(approvalWords(review), { form, mayAgree: signedIn.isProven, problem, wrongReason }),
    status,
    headers,
  )
}

function notFound(c: Context, signedIn: SignedIn) {
  const text = 'There is no payment to decide on at this address. Check the link, or list the approvals again.'
  return c.html(notYoursPage(text, signedIn, c.req.path), 404, headers)
}

function purposeOf(c: Context): string {
  return `approval ${c.req.param('approvalId')}`
}

async function reviewOf(c: Context, { reviews }: ApprovalDependencies, { user }: SignedIn) {
  const id = c.req.param('approvalId') ?? ''
  return /^apr_[0-9a-f]{32}$/.test(id) ? reviews.open(id, user) : undefined
}
