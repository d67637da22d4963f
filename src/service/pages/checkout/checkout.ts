import { fail } from '../../../core/errors.ts'
import { equalSecrets, newId, sha256, timestamp } from '../../../core/system.ts'
import { actOfVisitor } from '../../request/activity.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import {
  type Changed,
  type Dependencies,
  type FindParty,
  runChange,
  runSettled,
  unchanged,
} from '../../request/settled-transaction.ts'
import { paymentAmount, type Terms } from '../../rules/subscription-terms.ts'
import { cancel, nextPayment, payInCheckout } from '../../rules/subscriptions.ts'
import { sandboxCard } from '../../rules/test-cards.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import { findSubscriptionOfAnyParty, type SubscriptionRecord, saveBilling } from '../../store/subscriptions.ts'
import { checkoutSecrets, intentOfSecret, opensPage, subscriptionOfToken } from '../../tokens/checkout-secrets.ts'

/** A checkout as the payer sees it: the merchant, the purpose, the amount and the interval. Amounts are in cents. */
export interface CheckoutSession {
  status: SubscriptionRecord['status']
  /** The name of the merchant. */
  merchant: string
  terms: Terms
  /** The price of the first payment. */
  amount: number
  taxAmount: number
  currency: 'USD'
  /**
   * The deadline for the first payment; null if there is no deadline, and after that payment is made or the
   * subscription is canceled.
   */
  expiresAt: string | null
  nextDueAt: string | null
}

export type PaymentResult = {
  result: 'paid' | 'declined' | 'agreement_failed'
  detail: string
  session: CheckoutSession
  /**
   * The token with which the payer can later stop the payments. It is null if the first payment is not made yet, or if
   * this request does not come from the browser that made it.
   */
  manageToken: string | null
  /** The subscription's id if the checkout is now paused because this card was declined; otherwise null. */
  pausedSubscriptionId: string | null
}

/** A secret that gives access to a subscription without a credential. */
export type SubscriptionSecret = { clientSecret: string } | { manageToken: string }

/** The payer's operations on a subscription. The payer needs no credential, only a secret from the checkout. */
export interface Checkout {
  /** Returns the current time of the sandbox clock. */
  now(): Promise<number>
  /**
   * Returns the checkout that `checkoutUrl` opens; undefined if the page token is wrong. `clientSecret` is null once
   * the first payment is made or can no longer be made.
   */
  open(subscriptionId: string, pageToken: string): Promise<OpenedCheckout | undefined>
  /** Returns the session for the page where the payer stops the payments; undefined if the token is wrong. */
  manage(manageToken: string): Promise<CheckoutSession | undefined>
  /** Returns the checkout session that a secret opens. @throws 404 `not_found` for an unknown secret. */
  session(secret: SubscriptionSecret): Promise<CheckoutSession>
  /**
   * Makes the first payment. If it was already made, returns `paid` again without charging a card.
   * @throws 404 for an unknown secret, 409 if the checkout has ended, 422 for an invalid field, 429 while the checkout
   * is paused after too many declined cards.
   */
  pay(clientSecret: string, card: CardEntry, payerKey?: string): Promise<PaymentResult>
  /**
   * Cancels the subscription for the payer, so that no more payments are taken.
   * @throws 404 for an unknown token, 409 if the subscription is completed.
   */
  stop(manageToken: string): Promise<CheckoutSession>
}

interface OpenedCheckout {
  session: CheckoutSession
  clientSecret: string | null
}

/** The card as the payer typed it. It is checked and never stored. */
export interface CardEntry {
  number: string
  expiry: string
  cvv: string
}

export function createCheckout(dependencies: Dependencies): Checkout {
  return {
    now: () => runSettled(dependencies, async ({ nowMs }) => nowMs),
    open: (id, pageToken) =>
      runSettled(
        dependencies,
        async ({ tx }) => {
          const record = (await opensPage(tx, id, pageToken)) ? await findSubscriptionOfAnyParty(tx, { id }) : undefined
          if (record === undefined) return undefined
          const clientSecret = record.status === 'pending' ? (await checkoutSecrets(tx)).clientSecret(record) : null
          return { session: await sessionOf(tx, record), clientSecret }
        },
        async (tx) => (await findSubscriptionOfAnyParty(tx, { id }))?.partyId,
      ),
    manage: (manageToken) =>
      runSettled(
        dependencies,
        async ({ tx }) => {
          const record = await findBy(tx, { manageToken })
          return record && sessionOf(tx, record)
        },
        merchantOf({ manageToken }),
      ),
    session: (secret) =>
      runSettled(dependencies, async ({ tx }) => sessionOf(tx, await openedBy(tx, secret)), merchantOf(secret)),
    pay: (clientSecret, entry, payerKey) =>
      runChange(
        dependencies,
        async (context) => {
          return pay({ ...context, payerKey }, await openedBy(context.tx, { clientSecret }), entry)
        },
        merchantOf({ clientSecret }),
      ),
    stop: (manageToken) =>
      runChange(dependencies, (context) => stop(context, manageToken), merchantOf({ manageToken })),
  }
}

function merchantOf(secret: SubscriptionSecret): FindParty {
  return async (tx) => (await findBy(tx, secret))?.partyId
}

async function stop({ tx, system, nowMs }: ChangeContext, manageToken: string): Promise<Changed<CheckoutSession>> {
  const before = await openedBy(tx, { manageToken })
  const billing = cancel(before.billing, nowMs)
  if (billing === before.billing) return unchanged(await sessionOf(tx, before))
  const after = await saveBilling(tx, system, { before, billed: { billing, charges: [] } })
  return { result: await sessionOf(tx, after), acts: [actOfVisitor(before, { operation: 'stop_subscription' })] }
}

async function openedBy(tx: Transaction, secret: SubscriptionSecret): Promise<SubscriptionRecord> {
  return (await findBy(tx, secret)) ?? fail('not_found', unknownCheckout)
}

const unknownCheckout = { detail: 'There is no such checkout. Ask the merchant for a new link.' }

async function findBy(tx: Transaction, secret: SubscriptionSecret): Promise<SubscriptionRecord | undefined> {
  if ('manageToken' in secret) {
    const id = await subscriptionOfToken(tx, secret.manageToken)
    return id === undefined ? undefined : findSubscriptionOfAnyParty(tx, { id })
  }
  const intent = await intentOfSecret(tx, secret.clientSecret)
  return intent === undefined ? undefined : findSubscriptionOfAnyParty(tx, { paymentIntentId: intent })
}

const resultDetails = {
  paid: 'Paid. Thank you.',
  declined: 'The card was declined. Try again, or use another card.',
  agreement_failed:
    'The bank did not accept the agreement to future payments. The checkout has ended; nothing was paid.',
} as const satisfies Record<PaymentResult['result'], string>

interface PayContext extends ChangeContext {
  /**
   * A random key that the payer's browser creates for this checkout. Requests with the same key come from the same
   * browser.
   */
  payerKey: string | undefined
}

async function pay(context: PayContext, before: SubscriptionRecord, entry: CardEntry): Promise<Changed<PaymentResult>> {
  const { tx, system, nowMs, payerKey } = context
  const payer = payerKey === undefined ? null : sha256(payerKey)
  // A double click or a second tab can send the payment again, but the card must not be charged twice.
  if (before.billing.anchorMs !== null && before.status !== 'canceled') {
    const isPayer = payer !== null && equalSecrets(payer, before.billing.payer ?? '')
    return unchanged(await answerOf(tx, 'paid', before, isPayer))
  }
  const card = sandboxCard(entry, timestamp(nowMs))
  const { result, ...billed } = payInCheckout(before.terms, before.billing, card, nowMs)
  const mandateId = result === 'paid' ? newId('mdt', system, nowMs) : before.mandateId
  const billing = result === 'paid' ? { ...billed.billing, payer } : billed.billing
  const after = await saveBilling(tx, system, { before: { ...before, mandateId }, billed: { ...billed, billing } })
  const act = actOfVisitor(before, { operation: 'pay_checkout', status: result === 'paid' ? 200 : 402 })
  return { result: await answerOf(tx, result, after, result === 'paid'), acts: [act] }
}

async function answerOf(
  tx: Transaction,
  result: PaymentResult['result'],
  record: SubscriptionRecord,
  isPayer: boolean,
): Promise<PaymentResult> {
  const manageToken = isPayer ? (await checkoutSecrets(tx)).manageToken(record) : null
  const pausedSubscriptionId = result === 'declined' && record.billing.checkoutWaitsUntilMs ? record.id : null
  const session = await sessionOf(tx, record)
  return { result, detail: resultDetails[result], session, manageToken, pausedSubscriptionId }
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
