import type { z } from 'zod'
import type { Subscription, subscriptions } from '../../../tools/subscriptions.ts'
import { fail } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import { type Context, type HandlersOf, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { isAllowedOnWallet, requireWalletPermission } from '../request/permission-checks.ts'
import { dateOf } from '../rules/calendar.ts'
import { lastListedPayment, paymentState } from '../rules/subscription-payments.ts'
import { freezeTerms } from '../rules/subscription-terms.ts'
import {
  type Billed,
  type Billing,
  cancel,
  changeCard,
  markPaid,
  nextEventAtMs,
  nextPayment,
  payInCheckout,
  resume,
  startBilling,
} from '../rules/subscriptions.ts'
import { pageOf } from '../store/engine/page.ts'
import { chargedPayments } from '../store/subscription-payments.ts'
import {
  findSubscription,
  insertSubscription,
  listSubscriptions,
  type SubscriptionRecord,
  saveBilling,
} from '../store/subscriptions.ts'
import { defaultWallet } from '../store/wallets.ts'
import { checkoutSecrets } from '../tokens/checkout-secrets.ts'

type SubscriptionResource = z.output<typeof Subscription>

export const subscriptionHandlers = {
  createSubscription: async (input, context) => {
    const { tx, actor, partyId, operation, instanceId, nowMs, system } = context
    const terms = freezeTerms(input)
    const wallet = await defaultWallet(tx, partyId)
    if (wallet === undefined) fail('conflict', { detail: 'The account has no wallet that could receive the payments.' })
    await requireWalletPermission(tx, actor, operation, wallet)
    const { expiresInMinutes: minutes } = input
    const billing = startBilling(nowMs, minutes === null ? null : nowMs + minutes * 60_000)
    const record: SubscriptionRecord = {
      id: newId('sub', system, nowMs),
      partyId,
      walletId: wallet.id,
      paymentIntentId: newId('pmi', system, nowMs),
      mandateId: null,
      agentId: actor.agentId,
      instanceId,
      status: billing.status,
      terms,
      billing,
      currency: 'USD',
      nextEventAtMs: nextEventAtMs(terms, billing),
      version: 1,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    await insertSubscription(tx, record)
    return view(context, record)
  },

  getSubscription: async ({ subscriptionId }, context) =>
    view(context, await loadSubscription(context, subscriptionId)),

  listSubscriptions: async (input, context) => {
    const { tx, partyId } = context
    const list = { list: 'subscriptions', partyId, status: input.status }
    const rows = await listSubscriptions(tx, walletListScope(context), input.status, pageRequest(input, list))
    return page(rows, list, await viewer(context, rows.rows))
  },

  /**
   * Lists payments newest first. A cursor must contain an id, but these payments are found by their numbers. The cursor
   * therefore contains a payment's number in the form of an id.
   */
  listSubscriptionPayments: async (input, context) => {
    const { id, terms, billing } = await loadSubscription(context, input.subscriptionId)
    const list = { list: 'subscriptionPayments', subscriptionId: id }
    const { limit, beforeId } = pageRequest(input, list)
    const last = beforeId === null ? lastListedPayment(terms, billing) : numberOfCursorId(beforeId) - 1
    const first = Math.max(1, last - limit)
    const charges = await chargedPayments(context.tx, { partyId: context.partyId, subscriptionId: id, first, last })
    const numbers = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => last - index)
    return page(pageOf(numbers, limit, cursorIdOf), list, (paymentNumber) => {
      const charge = charges.find((one) => one.paymentNumber === paymentNumber)
      const { dueMs, ...state } = paymentState(terms, billing, paymentNumber, charge !== undefined)
      return {
        type: 'subscriptionPayment',
        id: `${id}-${paymentNumber}`,
        attributes: {
          ...state,
          dueDate: dueMs === null ? null : dateOf(dueMs),
          currency: 'USD',
          paidAt: charge === undefined ? null : timestamp(charge.chargedAtMs),
        },
        relationships: {
          transaction: { data: charge === undefined ? null : { type: 'transaction', id: charge.transactionId } },
        },
      }
    })
  },

  cancelSubscription: (input, context) =>
    change(context, input.subscriptionId, (_terms, billing) => withoutCharges(cancel(billing, context.nowMs))),

  resumeSubscription: (input, context) =>
    change(context, input.subscriptionId, (terms, billing) => resume(terms, billing, context.nowMs)),

  markSubscriptionPaymentPaid: (input, context) =>
    change(context, input.subscriptionId, (terms, billing) =>
      withoutCharges(markPaid(terms, billing, input.paymentNumber, context.nowMs)),
    ),

  simulateSubscriptionCheckout: async (input, context) => {
    const { system, nowMs } = context
    return change(context, input.subscriptionId, (terms, billing) => {
      const { result, ...billed } = payInCheckout(terms, billing, input.card, nowMs)
      return { ...billed, ...(result === 'paid' ? { mandateId: newId('mdt', system, nowMs) } : {}) }
    })
  },

  simulateSubscriptionCard: (input, context) =>
    change(context, input.subscriptionId, (_terms, billing) =>
      withoutCharges(changeCard(billing, input.behavior, input.fromPaymentNumber, context.nowMs)),
    ),
} satisfies HandlersOf<typeof subscriptions>

type BillingChange = (terms: SubscriptionRecord['terms'], billing: Billing) => Billed & { mandateId?: string }

/**
 * Loads a subscription, and applies a change to its billing. Saves the subscription only if its billing is now
 * different.
 */
async function change(context: Context, id: string, applyChange: BillingChange): Promise<SubscriptionResource> {
  const record = await loadSubscription(context, id)
  const { mandateId = record.mandateId, ...billed } = applyChange(record.terms, record.billing)
  if (billed.billing === record.billing) return view(context, record)
  return view(context, await saveBilling(context.tx, context.system, { before: { ...record, mandateId }, billed }))
}

const withoutCharges = (billing: Billing): Billed => ({ billing, charges: [] })

/**
 * Returns a subscription of the party `partyId`.
 * @throws 404 if the party has no such subscription, 403 if an agent lacks the permission on the subscription's wallet.
 */
export async function loadSubscription(
  { tx, actor, partyId, operation }: Context,
  id: string,
): Promise<SubscriptionRecord> {
  const record = await findSubscription(tx, partyId, id)
  if (record === undefined) fail('not_found', { detail: `There is no subscription ${id}.` })
  await requireWalletPermission(tx, actor, operation, { id: record.walletId, partyId })
  return record
}

async function view(context: Context, record: SubscriptionRecord): Promise<SubscriptionResource> {
  return (await viewer(context, [record]))(record)
}

/**
 * Returns a function that renders subscriptions in their current state. A pending subscription includes its checkout
 * URL and client secret only if the caller may manage subscriptions. A caller with only read access must not get them,
 * because anyone who has them can act as the payer.
 */
async function viewer(context: Context, records: readonly SubscriptionRecord[]) {
  const { tx, publicUrl } = context
  const { pageToken, clientSecret } = await checkoutSecrets(tx)
  const manageableWalletIds = new Set<string>()
  for (const walletId of new Set(records.map((record) => record.walletId))) {
    if (await mayManageSubscriptions(context, walletId)) manageableWalletIds.add(walletId)
  }
  return (record: SubscriptionRecord): SubscriptionResource => {
    const payable = record.billing.status === 'pending' && manageableWalletIds.has(record.walletId)
    return subscriptionView(record, {
      checkoutUrl: payable ? `${publicUrl()}/checkout/${record.id}/${pageToken(record)}` : null,
      clientSecret: payable ? clientSecret(record) : null,
    })
  }
}

type Checkout = Pick<SubscriptionResource['attributes'], 'checkoutUrl' | 'clientSecret'>

export function subscriptionView(record: SubscriptionRecord, checkout: Checkout): SubscriptionResource {
  const { id, terms, billing } = record
  const next = nextPayment(terms, billing)
  const { attention, checkoutExpiresAtMs } = billing
  return {
    type: 'subscription',
    id,
    attributes: {
      status: billing.status,
      terms: terms as SubscriptionResource['attributes']['terms'],
      currency: record.currency,
      nextPayment: next && {
        paymentNumber: next.paymentNumber,
        dueDate: next.dueMs === null ? null : dateOf(next.dueMs),
        amount: next.amount,
        taxAmount: next.taxAmount,
      },
      missedPayments: [...billing.missed],
      attention: attention && { reason: attention.reason, since: timestamp(attention.sinceMs) },
      mandateId: record.mandateId,
      checkoutUrl: checkout.checkoutUrl,
      clientSecret: checkout.clientSecret,
      expiresAt: checkoutExpiresAtMs === null ? null : timestamp(checkoutExpiresAtMs),
      createdAt: timestamp(record.createdAtMs),
      updatedAt: timestamp(record.updatedAtMs),
    },
    relationships: { paymentIntent: { data: { type: 'paymentIntent', id: record.paymentIntentId } } },
  }
}

async function mayManageSubscriptions({ tx, actor, partyId }: Context, walletId: string): Promise<boolean> {
  return isAllowedOnWallet(tx, actor, 'subscriptions.manage', { id: walletId, partyId })
}

const cursorIdOf = (paymentNumber: number) => `pmt_${paymentNumber.toString(16).padStart(32, '0')}`
const numberOfCursorId = (id: string) => Number.parseInt(id.slice(4), 16)
