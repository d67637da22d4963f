import type { paymentStatuses } from '../../../tools/payments.ts'
import { fail } from '../../core/errors.ts'
import { money, withMoney } from '../../core/money.ts'
import { next, type Transitions } from './transitions.ts'

export type PaymentStatus = (typeof paymentStatuses)[number]

/**
 * The events of a payment. `pay` means that a known recipient gets the money immediately. `reserve` means that the
 * money is held until the recipient claims it. `review` means that a person must approve the payment.
 */
export type PaymentEvent = 'pay' | 'reserve' | 'review' | 'claim' | 'cancel' | 'deny'

/**
 * The transitions of a payment that involves no bank. Only a payment through a bank can be PROCESSING, fail or be
 * returned (bank-transfers.ts).
 */
export const paymentTransitions = {
  CREATED: { pay: 'COMPLETED', reserve: 'PENDING_CLAIM', review: 'IN_REVIEW' },
  IN_REVIEW: { pay: 'COMPLETED', reserve: 'PENDING_CLAIM', deny: 'APPROVAL_DENIED', cancel: 'CANCELED' },
  PENDING_CLAIM: { claim: 'COMPLETED', cancel: 'CANCELED' },
  PROCESSING: {},
  COMPLETED: {},
  FAILED: {},
  CANCELED: {},
  RETURNED: {},
  APPROVAL_DENIED: {},
} as const satisfies Transitions<PaymentStatus, PaymentEvent>

/** Returns the status of a payment after an event. @throws 409 `conflict` if the current status rules out the event. */
export function nextPaymentStatus(status: PaymentStatus, event: PaymentEvent): PaymentStatus {
  const after = next<PaymentStatus, PaymentEvent>(paymentTransitions, status, event)
  return after ?? fail('conflict', { detail: `A payment that is ${status} does not allow ${event}. ${hints[event]}` })
}

const hints: Readonly<Record<PaymentEvent, string>> = {
  pay: 'The payment was already made, denied or canceled.',
  reserve: 'The payment was already made, denied or canceled.',
  review: 'Only a payment that is CREATED can go to review.',
  deny: 'Only a payment that is IN_REVIEW can be denied.',
  claim: 'Only a payment that is PENDING_CLAIM can be claimed.',
  cancel: 'Only a payment that is IN_REVIEW or PENDING_CLAIM can be canceled.',
}

interface Funds {
  id: string
  status: 'active' | 'frozen' | 'closed'
  availableCents: number
}

/**
 * Refuses to take an amount from a wallet that is not active or has too little money.
 * @throws 409 `conflict`, because the same request may succeed later, for example once the wallet is funded.
 */
export function requireFunds(wallet: Funds, amountCents: number, pointer?: '/data/attributes/amount'): void {
  if (wallet.status !== 'active') {
    fail('conflict', { detail: `The wallet ${wallet.id} is ${wallet.status}: nothing can be paid from it.` })
  }
  if (amountCents <= wallet.availableCents) return
  if (wallet.availableCents < 0) {
    fail('conflict', {
      detail: `The wallet ${wallet.id} is ${money(-wallet.availableCents)} below zero because a bank returned a deposit: nothing can be paid from it until it is funded.`,
    })
  }
  fail('conflict', {
    detail: `Insufficient funds: the wallet ${wallet.id} has ${withMoney(wallet.availableCents)} available, but ${withMoney(amountCents)} is needed.`,
    ...(pointer === undefined ? {} : { source: { pointer }, accepts: { maximum: wallet.availableCents } }),
  })
}
