import type { z } from 'zod'
import type { Subscription } from '../../../tools/subscriptions.ts'
import { fail } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import { isAllowedOn, requireHeldOnWallet } from '../request/actor.ts'
import { type Context, type Handler, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { dateOf } from '../rules/calendar.ts'
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
import {
  findSubscription,
  insertSubscription,
  type SubscriptionRecord,
  saveBilling,
  listSubscriptions as subscriptionsOf,
} from '../store/subscriptions.ts'
import { defaultWallet } from '../store/wallets.ts'
import { checkoutSecrets } from '../tokens/checkout-secrets.ts'

type SubscriptionResource = z.output<typeof Subscription>

export const createSubscription: Handler<'createSubscription'> = async (input, context) => {
  const { tx, actor, partyId, operation, instanceId, nowMs, system } = context
  const terms = freezeTerms(input)
  const wallet = await defaultWallet(tx, partyId)
  if (wallet === undefined) fail('conflict', { detail: 'The account has no wallet to be paid into.' })
  await requireHeldOnWallet(tx, actor, operation, wallet)
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
}

export const getSubscription: Handler<'getSubscription'> = async ({ subscriptionId }, context) =>
  view(context, await loadSubscription(context, subscriptionId))

export const listSubscriptions: Handler<'listSubscriptions'> = async (input, context) => {
  const { tx, partyId } = context
  const list = { list: 'subscriptions', partyId, status: input.status }
  const rows = await subscriptionsOf(tx, walletListScope(context), input.status, pageRequest(input, list))
  return page(rows, list, await viewer(context, rows.rows))
}

export const cancelSubscription: Handler<'cancelSubscription'> = (input, context) =>
  change(context, input.subscriptionId, (_terms, billing) => unpaid(cancel(billing, context.nowMs)))

export const resumeSubscription: Handler<'resumeSubscription'> = (input, context) =>
  change(context, input.subscriptionId, (terms, billing) => resume(terms, billing, context.nowMs))

export const markSubscriptionPaymentPaid: Handler<'markSubscriptionPaymentPaid'> = (input, context) =>
  change(context, input.subscriptionId, (terms, billing) =>
    unpaid(markPaid(terms, billing, input.paymentNumber, context.nowMs)),
  )

export const simulateSubscriptionCheckout: Handler<'simulateSubscriptionCheckout'> = async (input, context) => {
  const { system, nowMs } = context
  return change(context, input.subscriptionId, (terms, billing) => {
    const { result, ...billed } = payInCheckout(terms, billing, input.card, nowMs)
    return { ...billed, ...(result === 'paid' ? { mandateId: newId('mdt', system, nowMs) } : {}) }
  })
}

export const simulateSubscriptionCard: Handler<'simulateSubscriptionCard'> = (input, context) =>
  change(context, input.subscriptionId, (_terms, billing) =>
    unpaid(changeCard(billing, input.behavior, input.fromPaymentNumber, context.nowMs)),
  )

type Decision = (terms: SubscriptionRecord['terms'], billing: Billing) => Billed & { mandateId?: string }

/** Load, decide, save, return. */
async function change(context: Context, id: string, decide: Decision): Promise<SubscriptionResource> {
  const record = await loadSubscription(context, id)
  const { mandateId = record.mandateId, ...billed } = decide(record.terms, record.billing)
  if (billed.billing === record.billing) return view(context, record)
  return view(context, await saveBilling(context.tx, context.system, { before: { ...record, mandateId }, billed }))
}

const unpaid = (billing: Billing): Billed => ({ billing, charges: [] })

/** A subscription of the party acted on, on a wallet of which an agent holds the permission. @throws 404, 403. */
export async function loadSubscription(
  { tx, actor, partyId, operation }: Context,
  id: string,
): Promise<SubscriptionRecord> {
  const record = await findSubscription(tx, partyId, id)
  if (record === undefined) fail('not_found', { detail: `There is no subscription ${id}.` })
  await requireHeldOnWallet(tx, actor, operation, { id: record.walletId, partyId })
  return record
}

async function view(context: Context, record: SubscriptionRecord): Promise<SubscriptionResource> {
  return (await viewer(context, [record]))(record)
}

/**
 * A view of subscriptions as they stand; while one is pending, with the way to its checkout, for whom could have asked for
 * it. Who may only read would otherwise hold what a payer pays with.
 */
async function viewer(context: Context, records: readonly SubscriptionRecord[]) {
  const { tx, publicUrl } = context
  const { pageToken, clientSecret } = await checkoutSecrets(tx)
  const handedOut = new Set<string>()
  for (const walletId of new Set(records.map((record) => record.walletId))) {
    if (await mayAskForPayments(context, walletId)) handedOut.add(walletId)
  }
  return (whole: SubscriptionRecord): SubscriptionResource => {
    const { id, terms, billing, ...record } = whole
    const next = nextPayment(terms, billing)
    const { attention, checkoutExpiresAtMs } = billing
    const payable = billing.status === 'pending' && handedOut.has(record.walletId)
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
        checkoutUrl: payable ? `${publicUrl()}/checkout/${id}/${pageToken(whole)}` : null,
        clientSecret: payable ? clientSecret(whole) : null,
        expiresAt: checkoutExpiresAtMs === null ? null : timestamp(checkoutExpiresAtMs),
        createdAt: timestamp(record.createdAtMs),
        updatedAt: timestamp(record.updatedAtMs),
      },
      relationships: { paymentIntent: { data: { type: 'paymentIntent', id: record.paymentIntentId } } },
    }
  }
}

async function mayAskForPayments({ tx, actor, partyId }: Context, walletId: string): Promise<boolean> {
  return isAllowedOn(tx, actor, 'subscriptions.manage', { id: walletId, partyId })
}
