import { fail } from '../../../core/errors.ts'
import { newId } from '../../../core/system.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import type { Context } from '../../request/handler.ts'
import { requireWalletPermission } from '../../request/permission-checks.ts'
import { paid, reserved, transferred, wired } from '../../rules/ledger.ts'
import { nextPaymentStatus, requireFunds } from '../../rules/payments.ts'
import { insertApproval } from '../../store/approvals.ts'
import { post, postBetween } from '../../store/ledger.ts'
import { findPaymentRequest } from '../../store/payment-requests.ts'
import { insertPayment, withoutBank } from '../../store/payments.ts'
import type { ApprovalRow } from '../../store/schema/approvals.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { WalletRow } from '../../store/schema/wallets.ts'
import { recordArrival } from '../../store/transactions.ts'
import { agentDefaultWallet, defaultWallet, findWallet } from '../../store/wallets.ts'
import { submit, withBankAccount } from './bank-transfers.ts'
import { findExceededLimits } from './check-spending-limits.ts'
import { prepareApprovalMessages } from './mail-people.ts'

/** The given attributes of a new payment or transfer. `newPayment` sets all other attributes. */
type Draft = Pick<PaymentRow, 'kind' | 'amountCents' | 'currency' | 'description' | 'tags'> &
  Partial<
    Pick<
      PaymentRow,
      | 'recipientPartyId'
      | 'recipientAgentId'
      | 'claimant'
      | 'claimTokenHash'
      | 'beneficiary'
      | 'paymentRequestId'
      | 'externalAccountId'
      | 'method'
    >
  >

/**
 * Makes a payment or transfer, or puts it in review if it exceeds a limit. A payment that could not be made now is
 * refused even if it exceeds a limit, so that nobody is asked to approve it in vain.
 */
export async function send(context: Context, wallet: WalletRow, draft: Draft): Promise<PaymentRow> {
  const { tx, nowMs, system } = context
  const payment = await requireMovable(context, wallet, newPayment(context, wallet, draft))
  const spender = { partyId: payment.partyId, agentId: payment.agentId }
  const reasons = await findExceededLimits(tx, spender, payment.amountCents, nowMs)
  if (reasons.length === 0) {
    const moved = await (payment.externalAccountId === null ? move : submit)(context, payment, wallet)
    await insertPayment(tx, moved)
    return moved
  }
  const sendMessages = await prepareApprovalMessages(context, payment)
  const inReview = { ...payment, status: nextPaymentStatus(payment.status, 'review') }
  await insertPayment(tx, inReview)
  const approval: ApprovalRow = {
    id: newId('apr', system, nowMs),
    partyId: payment.partyId,
    walletId: payment.walletId,
    paymentId: payment.id,
    status: 'pending',
    reasons: JSON.stringify(reasons),
    denialReason: null,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    resolvedAtMs: null,
  }
  await insertApproval(tx, approval, payment)
  await sendMessages(approval)
  return inReview
}

/**
 * Requires that a payment could be made now. Returns the payment, with the name and last digits of its bank account if
 * it uses one.
 * @throws 404 if the bank account does not exist, 409 `conflict` if the payment could not be made now.
 */
async function requireMovable(context: Context, wallet: WalletRow, payment: PaymentRow): Promise<PaymentRow> {
  if (payment.externalAccountId !== null) return withBankAccount(context, payment, wallet)
  // When a payment request is paid, the error points at no attribute, because the payer does not choose the amount.
  const pointer = payment.paymentRequestId === null ? '/data/attributes/amount' : undefined
  requireFunds(wallet, payment.amountCents, pointer)
  return payment
}

/**
 * Pays a payment, reserves its money for a recipient who must claim it, or submits it to the bank. Returns the changed
 * payment, which the calling function must save.
 * @throws 409 if the money cannot move now.
 */
export async function move(context: Context, payment: PaymentRow, wallet: WalletRow): Promise<PaymentRow> {
  const { tx, system, nowMs } = context
  const { amountCents } = payment
  const cause = { nowMs, sourceId: payment.id }
  if (payment.externalAccountId !== null) {
    return submit(context, await withBankAccount(context, payment, wallet), wallet)
  }
  requireFunds(wallet, amountCents)
  if (payment.claimant !== null) {
    const status = nextPaymentStatus(payment.status, 'reserve')
    await post(tx, system, wallet, reserved(wallet.id, amountCents), cause)
    return { ...payment, status, heldCents: amountCents, updatedAtMs: nowMs }
  }
  const status = nextPaymentStatus(payment.status, 'pay')
  if (payment.kind === 'wire') {
    await post(tx, system, wallet, wired(wallet.id, amountCents), cause)
    return { ...payment, status, updatedAtMs: nowMs, transactionId: await recordArrival(context, payment, null) }
  }
  const to = await receivingWallet(context, payment)
  await postBetween(tx, system, [wallet, to], [{ ...cause, posting: paid(wallet.id, to.id, amountCents) }])
  return { ...payment, status, updatedAtMs: nowMs, transactionId: await recordArrival(context, payment, to) }
}

/**
 * Moves money between two wallets of the party. The money stays with the party, so no limit applies and no transaction
 * is recorded.
 * @throws 409 if the money cannot move now.
 */
export async function moveBetweenOwnWallets(
  context: Context,
  [from, to]: readonly [WalletRow, WalletRow],
  draft: Omit<Draft, 'kind' | 'beneficiary'>,
): Promise<PaymentRow> {
  const { tx, system, nowMs } = context
  requireFunds(from, draft.amountCents, '/data/attributes/amount')
  if (to.status !== 'active') {
    fail('conflict', { detail: `The wallet ${to.id} is ${to.status}: nothing can be paid into it.` })
  }
  const beneficiary = JSON.stringify({ walletId: to.id })
  const transfer = newPayment(context, from, { ...draft, kind: 'internal', beneficiary })
  const moved: PaymentRow = { ...transfer, status: nextPaymentStatus(transfer.status, 'pay') }
  await insertPayment(tx, moved)
  const posting = transferred(from.id, to.id, moved.amountCents)
  await postBetween(tx, system, [from, to], [{ posting, nowMs, sourceId: moved.id }])
  return moved
}

/**
 * Returns the wallet with the given id. Without an id, returns the default wallet of the calling agent, or the party's
 * default wallet if the caller is not an agent of the party.
 * @throws 404 if there is no wallet with the given id, 403 if there is no default wallet or if the caller lacks the
 * permission on the wallet.
 */
export async function payingWallet(
  context: Context,
  walletId?: string,
  attribute: 'walletId' | 'paymentSource/walletId' = 'walletId',
): Promise<WalletRow> {
  const { tx, actor, partyId, operation } = context
  const isOwn = actor.agentId !== null && partyId === actor.partyId
  const wallet =
    walletId !== undefined
      ? await findWallet(tx, partyId, walletId)
      : isOwn
        ? await agentDefaultWallet(tx, partyId, actor.agentId ?? '')
        : await defaultWallet(tx, partyId)
  if (wallet === undefined && walletId !== undefined) {
    fail('not_found', {
      detail: `There is no wallet ${walletId}.`,
      source: { pointer: `/data/attributes/${attribute}` },
    })
  }
  if (wallet === undefined) {
    fail('forbidden', { detail: 'There is no default wallet to use. Ask the owner of the account to attach a wallet.' })
  }
  await requireWalletPermission(tx, actor, operation, wallet)
  return wallet
}

/**
 * Returns the wallet that receives a payment. If a payment request is paid, this is the request's wallet. Otherwise, it
 * is the recipient agent's default wallet or, if there is none, the recipient party's default wallet.
 * @throws 409 `conflict` if the wallet cannot receive money now.
 */
export async function receivingWallet(
  { tx }: Pick<ChangeContext, 'tx'>,
  {
    recipientPartyId,
    recipientAgentId,
    paymentRequestId,
  }: Pick<PaymentRow, 'recipientPartyId' | 'recipientAgentId' | 'paymentRequestId'>,
): Promise<WalletRow> {
  const partyId = recipientPartyId ?? ''
  if (paymentRequestId !== null) {
    const request = await findPaymentRequest(tx, partyId, paymentRequestId)
    const wallet = request === undefined ? undefined : await findWallet(tx, partyId, request.walletId)
    if (wallet?.status !== 'active') {
      fail('conflict', { detail: 'The wallet of the payment request cannot receive money now.' })
    }
    return wallet
  }
  const agentWallet = recipientAgentId === null ? undefined : await agentDefaultWallet(tx, partyId, recipientAgentId)
  const wallet = agentWallet ?? (await defaultWallet(tx, partyId))
  if (wallet?.status !== 'active') fail('conflict', { detail: 'The recipient cannot be paid now.' })
  return wallet
}

function newPayment(context: Context, wallet: WalletRow, draft: Draft): PaymentRow {
  const { actor, partyId, instanceId, nowMs, system } = context
  return {
    id: newId(draft.kind === 'payment' ? 'pay' : 'tfr', system, nowMs),
    partyId,
    walletId: wallet.id,
    delegated: partyId === actor.partyId ? 0 : 1,
    actorType: actor.actorType === 'party' ? 'api' : actor.actorType,
    agentId: actor.agentId,
    instanceId,
    ...withoutBank,
    status: 'CREATED',
    recipientPartyId: null,
    recipientAgentId: null,
    claimant: null,
    claimTokenHash: null,
    beneficiary: null,
    heldCents: 0,
    transactionId: null,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    ...draft,
  }
}
