import type { agentCardStatuses } from '../../../tools/agent-cards.ts'
import type { DeclineCode } from '../../../tools/card-transactions.ts'
import { Failure, fail } from '../../core/errors.ts'
import { next, type Transitions } from './transitions.ts'

/**
 * The facts that decide whether a single-purchase card can be used (docs/service.md#agent-card). Amounts are in cents,
 * times in ms.
 */
export interface SingleUseCard {
  maximumAmountCents: number
  expiresAtMs: number
  /** The time when the card's one purchase was approved; null until then. */
  usedAtMs: number | null
  /** The time when the card was frozen; null if it is not frozen. */
  frozenAtMs: number | null
}

export type CardStatus = (typeof agentCardStatuses)[number]
export type CardSwitch = 'freeze' | 'unfreeze'

/** The transitions that a caller may request. A purchase and the card's expiry also change the status. */
export const cardTransitions = {
  active: { freeze: 'frozen' },
  frozen: { unfreeze: 'active' },
  used: {},
  expired: {},
} as const satisfies Transitions<CardStatus, CardSwitch>

const onlyFrom = {
  freeze: 'Only an active card can be frozen',
  unfreeze: 'Only a frozen card can be unfrozen',
} as const satisfies Record<CardSwitch, string>

export function cardStatus(card: SingleUseCard, nowMs: number): CardStatus {
  if (card.usedAtMs !== null) return 'used'
  // A frozen card still expires, so the expiry is checked first (docs/service.md#frozen-cards).
  if (nowMs >= card.expiresAtMs) return 'expired'
  return card.frozenAtMs === null ? 'active' : 'frozen'
}

/** Freezes or unfreezes a card (docs/service.md#frozen-cards). @throws 409 if the card's status does not allow it. */
export function applySwitch<C extends SingleUseCard>(card: C, event: CardSwitch, nowMs: number): C {
  const status = cardStatus(card, nowMs)
  const after = next<CardStatus, CardSwitch>(cardTransitions, status, event)
  if (after === undefined) fail('conflict', { detail: `${onlyFrom[event]}; this one is ${status}.` })
  return { ...card, frozenAtMs: after === 'frozen' ? nowMs : null }
}

/**
 * Refuses a purchase with a frozen card. This is an error, not a decline, because the caller can unfreeze the card and
 * try again. @throws 409 `conflict` if the card is frozen.
 */
export function requireNotFrozen(card: SingleUseCard, nowMs: number): void {
  const refusal = frozenRefusal(card, nowMs)
  if (refusal !== undefined) throw refusal
}

/** Returns the error for using a frozen card; undefined if the card is not frozen. */
export function frozenRefusal(card: SingleUseCard, nowMs: number): Failure | undefined {
  if (cardStatus(card, nowMs) !== 'frozen') return undefined
  const detail = 'The card is frozen. Unfreeze it, then authorize again with a new idempotency key.'
  return new Failure('conflict', { detail })
}

interface Attempt {
  card: SingleUseCard
  amountCents: number
  /** The amount that the wallet can spend: its balance minus its holds. */
  availableCents: number
  nowMs: number
}

/**
 * The rules that decline an authorization. The first rule that applies determines the decline code
 * (docs/service.md#card-declines).
 */
const declineRules = {
  single_use_card_expired: ({ card, nowMs }) => nowMs >= card.expiresAtMs,
  single_use_card_used: ({ card }) => card.usedAtMs !== null,
  single_use_amount_over_maximum: ({ card, amountCents }) => amountCents > card.maximumAmountCents,
  insufficient_funds: ({ amountCents, availableCents }) => amountCents > availableCents,
} as const satisfies Record<DeclineCode, (attempt: Attempt) => boolean>

/** Returns why an authorization is declined; null if it is approved. */
export function declineReason(attempt: Attempt): DeclineCode | null {
  for (const [code, applies] of Object.entries(declineRules)) {
    if (applies(attempt)) return code as DeclineCode
  }
  return null
}
