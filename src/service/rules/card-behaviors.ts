/** Why a subscription stopped collecting payments and needs a person's attention. */
export type AttentionReason = 'missed_twice' | 'not_charged' | 'card_blocked' | 'card_needs_update' | 'card_removed'

/**
 * The card behaviors that the sandbox can simulate, with the outcomes of charging such a card: `first` for the first
 * attempt at a payment, and `retry` for every later attempt.
 */
export const cardBehaviors = {
  approves: { first: 'approved', retry: 'approved' },
  declines_once: { first: 'declined', retry: 'approved' },
  declines: { first: 'declined', retry: 'declined' },
  blocked: { first: 'card_blocked', retry: 'card_blocked' },
  needs_update: { first: 'card_needs_update', retry: 'card_needs_update' },
  removed: { first: 'card_removed', retry: 'card_removed' },
  processor_error: { first: 'not_processed', retry: 'not_processed' },
  agreement_fails: { first: 'agreement_ended', retry: 'agreement_ended' },
} as const satisfies Record<string, Record<'first' | 'retry', ChargeOutcome>>

/** The outcomes of a charge. The service retries a charge only after `declined` or `not_processed`. */
type ChargeOutcome =
  | 'approved'
  | 'declined'
  | 'not_processed'
  | 'agreement_ended'
  | Extract<AttentionReason, 'card_blocked' | 'card_needs_update' | 'card_removed'>

export type CardBehavior = keyof typeof cardBehaviors
