import { foreignName, shortForeignText } from '../../../core/foreign-text.ts'
import type { ApprovalReview } from '../../operations/steps/review-approval.ts'
import { mfaThresholdCents } from '../../rules/approvals.ts'
import type { LimitReason } from '../../rules/limits.ts'
import { dollars, momentOf } from './texts.ts'

/** A part of a sentence. */
export interface Part {
  text: string
  /** Whether the text was written outside this service. If so, the page isolates the text's writing direction. */
  foreign: boolean
}

/** The texts about a payment in review, for the person who decides. All are plain text, not HTML. */
export interface ApprovalWords {
  heading: string
  /** The sentences about the outcome; empty while the payment is pending. */
  outcome: string[]
  /** Whether the payment can still be approved or denied. */
  isPending: boolean
  amount: string
  payee: Part[]
  description: string | null
  initiator: Part[]
  reasons: string[]
  requestedAt: string
  /** The reason given by the person who denied the payment. */
  denialReason: string | null
  /** A sentence about the second-factor check; null if no check is needed or the payment is no longer pending. */
  check: string | null
}

const maxTextLength = 500

export function approvalWords(review: ApprovalReview): ApprovalWords {
  const { status, description, denialReason, reasons } = review
  const resolved = review.resolvedAtMs === null ? '' : momentOf(review.resolvedAtMs)
  return {
    heading: headings[status],
    outcome: outcomes[status](resolved),
    isPending: status === 'pending',
    amount: dollars(review.amountCents),
    payee: payeeWords(review.payee),
    description: shortForeignText(description ?? '', maxTextLength) || null,
    initiator: initiatorWords(review.initiator),
    reasons: reasons.map(reasonWords),
    requestedAt: momentOf(review.createdAtMs),
    denialReason: shortForeignText(denialReason ?? '', maxTextLength) || null,
    check: status === 'pending' ? checkWords(review.check) : null,
  }
}

const headings = {
  pending: 'Approve this payment?',
  approved: 'Approved',
  denied: 'Denied',
  canceled: 'Canceled',
} as const satisfies Record<ApprovalReview['status'], string>

const outcomes = {
  pending: () => [],
  approved: (at) => [`The payment was approved on ${at} and went ahead. You can close this page.`],
  denied: (at) => [`The payment was denied on ${at}. No money moved. You can close this page.`],
  canceled: (at) => [`The payment was canceled on ${at}. No money moved. You can close this page.`],
} as const satisfies Record<ApprovalReview['status'], (at: string) => string[]>

function payeeWords(payee: ApprovalReview['payee']): Part[] {
  const name = foreignPart(payee.name)
  if (payee.kind === 'account') return [name, ownPart(`, by wire to the account ${payee.account}`)]
  if (payee.kind === 'withdrawal') return [name, ownPart(`, your linked bank account ${payee.account}`)]
  if (payee.kind === 'deposit') {
    return [ownPart('Your wallet, from your linked bank account '), name, ownPart(` ${payee.account}`)]
  }
  if (payee.kind === 'agent') return [ownPart('The agent '), name, ownPart(' of '), foreignPart(payee.owner)]
  return payee.kind === 'claimant' ? [name, ownPart(', who has no account yet and gets a claim link')] : [name]
}

function initiatorWords({ kind, agent, owner }: ApprovalReview['initiator']): Part[] {
  if (agent === null) return [ownPart(kind === 'user' ? 'A user of your account' : 'An API key of your account')]
  const name = [
    ownPart(kind === 'agent' ? 'The agent ' : 'An API key of your account, for the agent '),
    foreignPart(agent),
  ]
  return owner === null
    ? name
    : [...name, ownPart(' of '), foreignPart(owner), ownPart(', which you allowed to act for you')]
}

function reasonWords({ limitType, limitAmount, actualAmount }: LimitReason): string {
  const { what, sum } = limits[limitType]
  return `Over the limit of ${dollars(limitAmount)} ${what}: ${sum} ${dollars(actualAmount)}.`
}

const limits = {
  perTransactionAmount: { what: 'per payment', sum: 'this payment is' },
  dailyAmount: { what: 'per day', sum: 'the total for the day would be' },
  monthlyAmount: { what: 'per month', sum: 'the total for the month would be' },
} as const satisfies Record<LimitReason['limitType'], { what: string; sum: string }>

function checkWords(check: ApprovalReview['check']): string | null {
  if (check === null) return null
  if (check.untilMs !== null) return `You confirmed your identity. You can approve until ${momentOf(check.untilMs)}.`
  return `Approving more than ${dollars(mfaThresholdCents)} needs a code from your authenticator app. You then return to this page.`
}

function ownPart(text: string): Part {
  return { text, foreign: false }
}

function foreignPart(text: string): Part {
  return { text: foreignName(text, 'Without a name'), foreign: true }
}
