import type { z } from 'zod'
import type { paymentRequests } from '../../../../tools/payment-requests.ts'
import { fail } from '../../../core/errors.ts'
import { newId } from '../../../core/system.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import type { Context } from '../../request/handler.ts'
import { paidByCard } from '../../rules/ledger.ts'
import { asOf, nextRequestStatus } from '../../rules/payment-requests.ts'
import { nextPaymentStatus } from '../../rules/payments.ts'
import { post } from '../../store/ledger.ts'
import { changePaymentRequest } from '../../store/payment-requests.ts'
import { insertPayment, withoutBank } from '../../store/payments.ts'
import type { PaymentRequestRow } from '../../store/schema/payment-requests.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { WalletRow } from '../../store/schema/wallets.ts'
import { recordArrival } from '../../store/transactions.ts'
import { defaultWallet } from '../../store/wallets.ts'
import { findOrCreateWallet } from './claim-payment.ts'
import { payingWallet, receivingWallet, send } from './move-money.ts'

type Source = z.output<typeof paymentRequests.fulfillPaymentRequest.attributes>['paymentSource']

/**
 * Pays a payment request on behalf of its payer. If the payment exceeds a limit, it waits for approval. The status of
 * the request follows the status of the payment (docs/service.md#payment-requests).
 * @throws 409 `conflict` if the payment request is not open, or if the money cannot be moved now.
 */
export async function payRequest(context: Context, request: PaymentRequestRow, source: Source): Promise<PaymentRow> {
  requirePayable(request, context.nowMs)
  const isBank = source.type === 'external_account'
  // When a bank account pays, `send` does not check the receiving wallet. This call refuses the payment if that wallet
  // cannot receive money.
  if (isBank)
    await receivingWallet(context, {
      recipientPartyId: request.partyId,
      recipientAgentId: null,
      paymentRequestId: request.id,
    })
  const wallet = await payingWallet(context, isBank ? undefined : source.walletId, 'paymentSource/walletId')
  return send(context, wallet, {
    ...(isBank ? { externalAccountId: source.externalAccountId, method: 'standard' } : {}),
    kind: 'payment',
    amountCents: request.amountCents,
    currency: request.currency,
    description: request.description,
    tags: '{}',
    recipientPartyId: request.partyId,
    paymentRequestId: request.id,
  })
}

/**
 * Pays a payment request by card. The payer's wallet is not debited, and no limit applies. If no party has the payer's
 * address yet, creates one.
 * @throws 409 `conflict` if the payment request is not open, or if the requester's wallet cannot receive money now.
 */
export async function payRequestByCard(context: ChangeContext, request: PaymentRequestRow): Promise<PaymentRow> {
  const { tx, system, nowMs } = context
  requirePayable(request, nowMs)
  const payer = await payersWallet(context, request)
  const payment: PaymentRow = {
    ...withoutBank,
    id: newId('pay', system, nowMs),
    kind: 'payment',
    partyId: payer.partyId,
    walletId: payer.id,
    method: 'card',
    paymentRequestId: request.id,
    delegated: 0,
    actorType: 'user',
    agentId: null,
    instanceId: null,
    amountCents: request.amountCents,
    currency: request.currency,
    status: nextPaymentStatus('CREATED', 'pay'),
    description: request.description,
    tags: '{}',
    recipientPartyId: request.partyId,
    recipientAgentId: null,
    claimant: null,
    claimTokenHash: null,
    heldCents: 0,
    beneficiary: null,
    transactionId: null,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  const to = await receivingWallet(context, payment)
  // The payment belongs to the payer, and the money goes to the requester. The statements below therefore lock rows of
  // two parties, so this transaction must run alone.
  tx.runAlone()
  await post(tx, system, to, paidByCard(to.id, payment.amountCents), { nowMs, sourceId: payment.id })
  const paid = { ...payment, transactionId: await recordArrival(context, payment, to) }
  await insertPayment(tx, paid)
  return paid
}

/** Declines a payment request on behalf of its payer. @throws 409 `conflict` if the payment request is not open. */
export function declineRequest({ tx, nowMs }: ChangeContext, request: PaymentRequestRow): Promise<PaymentRequestRow> {
  return changePaymentRequest(tx, asOf(request, nowMs), 'decline', nowMs)
}

/** Requires that a payment request can be paid. @throws 409 `conflict` if it is no longer open or has expired. */
function requirePayable(request: PaymentRequestRow, nowMs: number): void {
  nextRequestStatus(asOf(request, nowMs).status, 'begin')
}

/**
 * Returns the payer's default wallet, for which the payment is recorded. If the payer has no party yet, creates one.
 * @throws 409 `conflict` if the payer is the requester.
 */
async function payersWallet(context: ChangeContext, request: PaymentRequestRow): Promise<WalletRow> {
  const { payerPartyId, payerValue, partyId, id } = request
  const wallet =
    payerPartyId === null
      ? await findOrCreateWallet(context, payerValue)
      : await defaultWallet(context.tx, payerPartyId)
  if (wallet === undefined) throw new Error(`Bug: the payer of ${id} has no wallet.`)
  if (wallet.partyId === partyId) fail('conflict', { detail: 'A party cannot pay its own payment request.' })
  return wallet
}
