import { fail } from '../errors.ts'
import { newId, type System, timestamp } from '../system.ts'
import { paymentAmount, type Terms } from './domain/subscription-terms.ts'
import { cancel, nextPayment, payInCheckout } from './domain/subscriptions.ts'
import { sandboxCard } from './domain/test-cards.ts'
import { clientSecrets, intentOfSecret } from './store/checkout-key.ts'
import { findParty } from './store/parties.ts'
import type { Store, Transaction } from './store/store.ts'
import {
  findByPaymentIntent,
  findPublicSubscription,
  type SubscriptionRecord,
  saveBilling,
} from './store/subscriptions.ts'
import { settledNow } from './time.ts'

/** What a payer sees: who is paid, for what, how much and how often. Amounts in cents. */
export interface CheckoutSession {
  status: SubscriptionRecord['status']
  /** Who is paid. */
  merchant: string
  terms: Terms
  /** Payment 1. */
  amount: number
  taxAmount: number
  currency: 'USD'
  /** When payment 1 can no longer be paid. */
  expiresAt: string | null
  nextDueAt: string | null
}

export type PaymentResult = {
  result: 'paid' | 'declined' | 'agreement_failed'
  detail: string
  session: CheckoutSession
}

/** The payer's side of a subscription, opened with its client secret instead of a credential. */
export interface Checkout {
  /** The page's own way in: the unguessable id stands in the address that the merchant gave the payer. */
  open(subscriptionId: string): Promise<{ session: CheckoutSession; clientSecret: string | null } | undefined>
  /** @throws 404 `not_found` for a secret that is none's. */
  session(clientSecret: string): Promise<CheckoutSession>
  /** Pays payment 1; a repeat after it was paid answers `paid` again. @throws 404, 409 when ended, 422 on a field. */
  pay(clientSecret: string, card: CardEntry): Promise<PaymentResult>
  /** The payer ends the agreement: every future payment stops. @throws 404, 409. */
  stop(clientSecret: string): Promise<CheckoutSession>
}

/** What the payer typed, as text. It is looked at and forgotten. */
export interface CardEntry {
  number: string
  expiry: string
  cvv: string
}

export function createCheckout(store: Store, system: System): Checkout {
  const withSecret = <T>(
    secret: string,
    use: (tx: Transaction, record: SubscriptionRecord, nowMs: number) => Promise<T>,
  ) =>
    store.transaction(async (tx) => {
      const nowMs = await settledNow(tx, system)
      const intent = await intentOfSecret(tx, system, secret)
      const record = intent === undefined ? undefined : await findByPaymentIntent(tx, intent)
      if (record === undefined)
        fail('not_found', { detail: 'There is no such checkout. Ask the merchant for a new link.' })
      return use(tx, record, nowMs)
    })
  return {
    open: (subscriptionId) =>
      store.transaction(async (tx) => {
        await settledNow(tx, system)
        const record = await findPublicSubscription(tx, subscriptionId)
        if (record === undefined) return undefined
        const clientSecret = (await clientSecrets(tx, system))(record.paymentIntentId)
        return { session: await sessionOf(tx, record), clientSecret }
      }),
    session: (secret) => withSecret(secret, (tx, record) => sessionOf(tx, record)),
    pay: (secret, entry) => withSecret(secret, (tx, record, nowMs) => pay(tx, system, record, entry, nowMs)),
    stop: (secret) =>
      withSecret(secret, async (tx, before, nowMs) => {
        const billing = cancel(before.billing, nowMs)
        if (billing === before.billing) return sessionOf(tx, before)
        return sessionOf(tx, await saveBilling(tx, system, { before, billed: { billing, charges: [] } }))
      }),
  }
}

const resultDetails = {
  paid: 'Paid. Thank you.',
  declined: 'The card was declined. Try again, or use another card.',
  agreement_failed:
    'The bank did not accept the agreement to future payments. The checkout has ended; nothing was paid.',
} as const satisfies Record<PaymentResult['result'], string>

async function pay(
  tx: Transaction,
  system: System,
  before: SubscriptionRecord,
  entry: CardEntry,
  nowMs: number,
): Promise<PaymentResult> {
  // A double click and a second tab find it paid; it is paid once.
  if (before.billing.anchorMs !== null && before.status !== 'canceled') {
    return { result: 'paid', detail: resultDetails.paid, session: await sessionOf(tx, before) }
  }
  const card = sandboxCard(entry, timestamp(nowMs))
  const { result, ...billed } = payInCheckout(before.terms, before.billing, card, nowMs)
  const mandateId = result === 'paid' ? newId('mdt', system, nowMs) : before.mandateId
  const after = await saveBilling(tx, system, { before: { ...before, mandateId }, billed })
  return { result, detail: resultDetails[result], session: await sessionOf(tx, after) }
}

async function sessionOf(tx: Transaction, { terms, billing, ...record }: SubscriptionRecord): Promise<CheckoutSession> {
  const merchant = await findParty(tx, record.partyId)
  if (merchant === undefined) throw new Error(`Bug: the merchant ${record.partyId} is gone.`)
  const next = nextPayment(terms, billing)
  const iso = (ms: number | null | undefined) => (ms === null || ms === undefined ? null : timestamp(ms))
  return {
    status: record.status,
    merchant: merchant.displayName,
    terms,
    ...paymentAmount(terms, 1),
    currency: record.currency,
    expiresAt: iso(billing.checkoutExpiresAtMs),
    nextDueAt: iso(next?.dueMs),
  }
}
