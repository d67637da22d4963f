import type { z } from 'zod'
import { type Payment, payments } from '../../../tools/payments.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { newSecret, sha256, timestamp } from '../../core/system.ts'
import { type Context, type HandlersOf, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { requireWalletPermission } from '../request/permission-checks.ts'
import { requireSimulatable } from '../request/simulated-party.ts'
import { nextApprovalStatus } from '../rules/approvals.ts'
import { released } from '../rules/ledger.ts'
import { nextPaymentStatus } from '../rules/payments.ts'
import { findApprovalOf, resolveApproval } from '../store/approvals.ts'
import { post } from '../store/ledger.ts'
import { findPayment, findPaymentOfAnyParty, listPayments, replacePayment } from '../store/payments.ts'
import type { PaymentRow } from '../store/schema/payments.ts'
import { findTransaction } from '../store/transactions.ts'
import { findWallet } from '../store/wallets.ts'
import { claimPayment, findClaimant } from './steps/claim-payment.ts'
import { mailClaimant } from './steps/mail-people.ts'
import { payingWallet, send } from './steps/move-money.ts'
import { resolveCounterparty } from './steps/resolve-counterparty.ts'

export const paymentHandlers = {
  createPayment: async (input, context) => {
    const { tx, partyId, system, publicUrl } = context
    const wallet = await payingWallet(context, input.walletId)
    const recipient = await resolveCounterparty(tx, input.counterparty)
    if (recipient.recipientPartyId === partyId) {
      failAttribute('counterparty/value', 'counterparty.value is the account that pays: it cannot pay itself.')
    }
    const token = recipient.claimant === null ? null : newSecret(system)
    const payment = await send(context, wallet, {
      kind: 'payment',
      amountCents: input.amount,
      currency: input.currency,
      description: input.description ?? null,
      tags: JSON.stringify(input.tags ?? {}),
      claimTokenHash: token === null ? null : sha256(token),
      ...recipient,
    })
    if (input.disableNotifications !== true) await mailClaimant(context, payment)
    const view = paymentView(payment, partyId)
    const claimLink = token === null ? null : `${publicUrl()}/claim/${token}`
    return { ...view, attributes: { ...view.attributes, claimLink } }
  },

  getPayment: async ({ paymentId }, context) =>
    paymentView((await loadReceived(context, paymentId)) ?? (await loadSent(context, paymentId)), context.partyId),

  listPayments: async (input, context) => {
    const scope = walletListScope(context)
    const list = { list: 'payments', ...scope }
    const rows = await listPayments(context.tx, scope, pageRequest(input, list))
    return page(rows, list, (row) => paymentView(row, context.partyId))
  },

  cancelPayment: async ({ paymentId }, context) => {
    const { tx, system, partyId, nowMs } = context
    const before = await loadSent(context, paymentId)
    const status = nextPaymentStatus(before.status, 'cancel')
    if (before.heldCents > 0) {
      const wallet = await findWallet(tx, partyId, before.walletId)
      if (wallet === undefined) throw new Error(`Bug: the wallet ${before.walletId} of a payment is gone.`)
      await post(tx, system, wallet, released(wallet.id, before.heldCents), { nowMs, sourceId: before.id })
    }
    const approval = await findApprovalOf(tx, before)
    if (approval?.status === 'pending') {
      const canceled = nextApprovalStatus(approval.status, 'cancel')
      await resolveApproval(tx, approval, before, { status: canceled, denialReason: null, nowMs })
    }
    const after = await replacePayment(tx, before, { ...before, status, heldCents: 0, updatedAtMs: nowMs })
    return paymentView(after, partyId)
  },

  simulatePaymentClaim: async ({ paymentId }, context) => {
    const before = await loadSentBy(context, paymentId)
    const claimant = await findClaimant(context.tx, before)
    await requireSimulatable(context, claimant?.id, { page: "at the payment's claimLink" })
    return paymentView(await claimPayment(context, before), before.partyId)
  },
} satisfies HandlersOf<typeof payments>

/**
 * Renders a payment for its sender or its recipient. The recipient does not see the tags, or the run that sent the
 * payment.
 */
export function paymentView(row: PaymentRow, viewerPartyId: string): z.output<typeof Payment> {
  const sent = row.partyId === viewerPartyId
  const agent = (id: string | null) => ({ data: id === null ? null : { type: 'agent' as const, id } })
  const party = (id: string | null) => ({ data: id === null ? null : { type: 'party' as const, id } })
  return {
    type: 'payment',
    id: row.id,
    attributes: {
      amount: row.amountCents,
      currency: row.currency,
      status: row.status,
      description: row.description,
      tags: sent ? (JSON.parse(row.tags) as Record<string, string>) : {},
      agentId: sent ? row.agentId : null,
      instanceId: sent ? row.instanceId : null,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: {
      sender: party(row.partyId),
      senderAgent: agent(row.agentId),
      recipient: party(row.recipientPartyId),
      recipientAgent: agent(row.recipientAgentId),
      customerParty: party(sent && row.delegated === 1 ? row.partyId : null),
      transaction: { data: row.transactionId === null ? null : { type: 'transaction', id: row.transactionId } },
      paymentRequest: {
        data: row.paymentRequestId === null ? null : { type: 'paymentRequest', id: row.paymentRequestId },
      },
    },
  }
}

async function loadSent({ tx, actor, operation, partyId }: Context, id: string): Promise<PaymentRow> {
  const payment = await findPayment(tx, partyId, id)
  if (payment?.kind !== 'payment') {
    fail('not_found', { detail: `There is no payment ${id}.` })
  }
  await requireWalletPermission(tx, actor, operation, { id: payment.walletId, partyId })
  return payment
}

/**
 * Returns a payment that the party received; undefined for any other payment. Until the money arrives, only the sender
 * sees the payment.
 */
async function loadReceived(context: Context, id: string): Promise<PaymentRow | undefined> {
  const { tx, actor, operation, partyId } = context
  const payment = await findPaymentOfAnyParty(tx, id)
  if (payment?.recipientPartyId !== partyId || payment.transactionId === null) return undefined
  const transaction = await findTransaction(tx, partyId, payment.transactionId)
  const walletId = transaction?.destinationWalletId
  if (typeof walletId !== 'string') throw new Error(`Bug: the received payment ${id} has no destination wallet.`)
  await requireWalletPermission(tx, actor, operation, { id: walletId, partyId })
  return payment
}

/**
 * Returns a payment that the caller's party sent, or that the calling agent sent for a customer.
 * @throws 404 for any other payment, 403 if the caller may not read the payment.
 */
async function loadSentBy({ tx, actor }: Context, id: string): Promise<PaymentRow> {
  const payment = await findPaymentOfAnyParty(tx, id)
  const isOwn = payment?.partyId === actor.partyId || (actor.agentId !== null && payment?.agentId === actor.agentId)
  if (payment?.kind !== 'payment' || !isOwn) fail('not_found', { detail: `There is no payment ${id}.` })
  // The response contains the whole payment, so only callers who may read the payment can simulate its recipient.
  await requireWalletPermission(tx, actor, payments.getPayment, { id: payment.walletId, partyId: payment.partyId })
  return payment
}
