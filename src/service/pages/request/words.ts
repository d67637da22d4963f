import { approvalPagePath } from '../../../../tools/approvals.ts'
import { foreignName, foreignText } from '../../../core/foreign-text.ts'
import type { CardBehavior } from '../../rules/card-behaviors.ts'
import type { PaymentRequestStatus } from '../../rules/payment-requests.ts'
import type { CardDecline } from '../../rules/request-cards.ts'
import { dollars, isolatedText, momentOf } from '../frame/texts.ts'
import type { ShownRequest } from './request-page.ts'

/** The texts on the page of a payment request. They are plain text, not HTML. */
export interface RequestWords {
  heading: string
  requester: string
  payer: string
  amount: string
  description: string
  expires: string
  /** The outcome or the current state of the request; null while the payer can pay or decline. */
  outcome: string | null
  /**
   * The path of the page where the visitor can decide on the payment; null if there is nothing for the visitor to
   * decide.
   */
  review: string | null
  /** The message about the last declined card; null if no card was declined or the request is no longer open. */
  declined: string | null
  wallets: { id: string; label: string }[]
}

export function requestWords(request: ShownRequest): RequestWords {
  const { status, viewer, lastDecline } = request
  const requester = foreignName(request.requester, 'Somebody', 200)
  const amount = dollars(request.amountCents)
  const { heading, line } = statusTexts[status]({ who: isolatedText(requester), amount, inReview: request.inReview })
  const approvalId = viewer?.approvalId ?? null
  return {
    heading,
    requester,
    payer: foreignName(request.payer, 'anyone with this link', 254),
    amount,
    description: foreignText(request.description ?? ''),
    expires: momentOf(request.expiresAtMs),
    outcome: line,
    review: approvalId === null ? null : approvalPagePath(approvalId),
    declined: status === 'OPEN' && lastDecline !== null ? declines[lastDecline] : null,
    wallets: (viewer?.wallets ?? []).map(({ id, name, availableCents }) => ({
      id,
      label: `${foreignName(name ?? '', 'A wallet', 100)}, ${dollars(availableCents)} available`,
    })),
  }
}

interface StatusFacts {
  who: string
  amount: string
  inReview: boolean
}

type StatusText = (facts: StatusFacts) => { heading: string; line: string | null }

const statusTexts = {
  OPEN: ({ who, amount }) => ({ heading: `${who} asks you for ${amount}`, line: null }),
  PROCESSING: ({ who, amount, inReview }) => ({
    heading: 'Payment in progress',
    line: inReview
      ? `The payment of ${amount} to ${who} is over a limit and needs the payer’s approval.`
      : `The payer’s bank is processing the payment. ${who} has not received ${amount} yet.`,
  }),
  COMPLETED: ({ who, amount }) => ({ heading: 'Paid. Thank you.', line: `${amount} was paid to ${who}.` }),
  FAILED: ({ who }) => ({
    heading: 'The payment failed',
    line: `The payer’s bank refused the payment. Nothing was paid. To pay after all, ask ${who} for a new request.`,
  }),
  RETURNED: ({ who }) => ({
    heading: 'The payment was returned',
    line: `The payer’s bank sent the payment back. To pay after all, ask ${who} for a new request.`,
  }),
  CANCELED: ({ who }) => ({ heading: 'Nothing to pay', line: `${who} canceled the request. Nothing was paid.` }),
  DECLINED: ({ who }) => ({
    heading: 'Declined',
    line: `The request was declined. Nothing was paid. To pay after all, ask ${who} for a new request.`,
  }),
  EXPIRED: ({ who }) => ({
    heading: 'This request has expired',
    line: `Nothing was paid. To pay after all, ask ${who} for a new request.`,
  }),
} as const satisfies Record<PaymentRequestStatus, StatusText>

/** The message for each reason why a card was declined. */
const declines = {
  declined: 'The card was declined. Nothing was paid. Try again, or use another card.',
  card_blocked: 'The bank has blocked that card. Nothing was paid. Use another card.',
  card_needs_update: 'That card needs new details. Nothing was paid. Check the details, or use another card.',
  card_removed: 'The bank says that this card cannot be used. Nothing was paid. Use another card.',
  not_processed: 'The card could not be charged right now. Nothing was paid. Try again.',
  agreement_ended: 'The card was declined. Nothing was paid. Use another card.',
} as const satisfies Record<CardDecline, string>

/** Descriptions of how a payment on this page ends with each kind of test card. */
export const testCardWords = {
  approves: 'Approved, every time',
  declines_once: 'Declined at first, approved on the next try',
  declines: 'Declined, every time',
  blocked: 'Declined: the bank has blocked the card',
  needs_update: 'Declined: the card needs new details',
  removed: 'Declined: the bank says the card cannot be used',
  processor_error: 'Not charged: the processor fails',
  agreement_fails: 'Declined, every time',
} as const satisfies Record<CardBehavior, string>
