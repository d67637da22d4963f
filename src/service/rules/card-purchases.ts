import type { cardTransactionStatuses } from '../../../tools/card-transactions.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { money, withMoney } from '../../core/money.ts'
import { next, type Transitions } from './transitions.ts'

/** How long an authorization stays valid on the card network if it is not captured. */
export const holdLifetimeMs = 7 * 24 * 60 * 60 * 1000

/** The state of a card transaction. Amounts are in cents (docs/service.md#card-transaction-status). */
export interface CardMovement {
  status: PurchaseStatus
  amountCents: number
  /** The amount on hold. The wallet cannot spend this amount unless the hold is released. */
  heldCents: number
  capturedCents: number
  refundedCents: number
  holdExpiresAtMs: number | null
}

export type PurchaseStatus = (typeof cardTransactionStatuses)[number]
export type PurchaseAction = 'capture' | 'reverse' | 'expire' | 'refund'
type PurchaseEvent = PurchaseAction | 'capture_part'

/** The allowed transitions of card transactions. */
export const purchaseTransitions = {
  authorized: { capture: 'captured', capture_part: 'partially_captured', reverse: 'reversed', expire: 'reversed' },
  captured: { refund: 'captured' },
  partially_captured: { refund: 'partially_captured' },
  declined: {},
  reversed: {},
  refunded: {},
} as const satisfies Transitions<PurchaseStatus, PurchaseEvent>

/** Captures `amountCents` of an authorized purchase and releases the rest of its hold. */
export function capture<P extends CardMovement>(purchase: P, amountCents: number): P {
  const whole = amountCents === purchase.amountCents
  const status = nextStatus(purchase, whole ? 'capture' : 'capture_part')
  if (amountCents > purchase.amountCents) {
    const detail = `amount must be at most ${withMoney(purchase.amountCents)}, the authorized amount; got ${withMoney(amountCents)}.`
    failAttribute('amount', detail, { maximum: purchase.amountCents })
  }
  return { ...purchase, status, capturedCents: amountCents, heldCents: 0, holdExpiresAtMs: null }
}

/** Releases the hold of an authorized purchase, because the merchant canceled or never captured the purchase. */
export function release<P extends CardMovement>(purchase: P, action: 'reverse' | 'expire'): P {
  return { ...purchase, status: nextStatus(purchase, action), heldCents: 0, holdExpiresAtMs: null }
}

/** Refunds `amountCents` of the captured amount. The refund itself is a separate card transaction. */
export function refund<P extends CardMovement>(purchase: P, amountCents: number): P {
  const status = nextStatus(purchase, 'refund')
  const left = purchase.capturedCents - purchase.refundedCents
  if (amountCents > left) {
    const why = `${money(purchase.capturedCents)} was captured and ${money(purchase.refundedCents)} is already refunded`
    const detail = `amount must be at most ${withMoney(left)}, because ${why}; got ${withMoney(amountCents)}.`
    failAttribute('amount', detail, { maximum: left })
  }
  return { ...purchase, status, refundedCents: purchase.refundedCents + amountCents }
}

function nextStatus(purchase: CardMovement, event: PurchaseEvent): PurchaseStatus {
  const status = next<PurchaseStatus, PurchaseEvent>(purchaseTransitions, purchase.status, event)
  if (status !== undefined) return status
  const action = event === 'capture_part' ? 'capture' : event
  const allowed = Object.keys(purchaseTransitions[purchase.status]).filter((name) => name !== 'capture_part')
  const instead = allowed.length === 0 ? 'It cannot change anymore.' : `Allowed: ${allowed.join(', ')}.`
  return fail('card_purchase_simulation_not_allowed', {
    detail: `A card transaction that is ${purchase.status} does not allow ${action}. ${instead}`,
  })
}
