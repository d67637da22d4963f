import type { DeclineCode } from '../../../tools/card-transactions.ts'

/** What decides whether a single-purchase card can be used; cents, instants in ms (docs/service.md#agent-card). */
export interface SingleUseCard {
  maximumAmountCents: number
  expiresAtMs: number
  /** When its one purchase was approved. */
  usedAtMs: number | null
}

export type CardStatus = 'active' | 'used' | 'expired'

export function cardStatus(card: SingleUseCard, nowMs: number): CardStatus {
  if (card.usedAtMs !== null) return 'used'
  return nowMs >= card.expiresAtMs ? 'expired' : 'active'
}

interface Attempt {
  card: SingleUseCard
  amountCents: number
  /** What the wallet can spend: its balance less its holds. */
  availableCents: number
  nowMs: number
}

/** The rules that decline an authorization, the first that applies wins (docs/service.md#card-declines). */
const declineRules = {
  single_use_card_expired: ({ card, nowMs }) => nowMs >= card.expiresAtMs,
  single_use_card_used: ({ card }) => card.usedAtMs !== null,
  single_use_amount_over_maximum: ({ card, amountCents }) => amountCents > card.maximumAmountCents,
  insufficient_funds: ({ amountCents, availableCents }) => amountCents > availableCents,
} as const satisfies Record<DeclineCode, (attempt: Attempt) => boolean>

/** Why an authorization is declined; null when it is approved. */
export function declineReason(attempt: Attempt): DeclineCode | null {
  for (const [code, applies] of Object.entries(declineRules)) {
    if (applies(attempt)) return code as DeclineCode
  }
  return null
}
