import { fail } from '../../../core/errors.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { nextApprovalStatus } from '../../rules/approvals.ts'
import { type BankMethod, directionOf, nextBankStatus, settlesAt } from '../../rules/bank-transfers.ts'
import { reserved } from '../../rules/ledger.ts'
import { requireFunds } from '../../rules/payments.ts'
import { findApprovalOf, resolveApproval } from '../../store/approvals.ts'
import { findExternalAccount } from '../../store/external-accounts.ts'
import { post } from '../../store/ledger.ts'
import { paymentsInReview, replacePayment } from '../../store/payments.ts'
import type { ExternalAccountRow } from '../../store/schema/external-accounts.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { WalletRow } from '../../store/schema/wallets.ts'

/** A bank account as it is stored with a transfer: only the last four digits of the account number are stored. */
export interface BankAccount {
  name: string
  accountLastFour: string
}

/**
 * Returns the transfer with the name and last digits of its bank account, if the transfer could be submitted now. For a
 * withdrawal, the wallet must have enough money. For any other transfer, which draws money from the bank account, the
 * connection to the bank must be active.
 * @throws 404 if the party has no such account, 409 `conflict` if the transfer could not be submitted now.
 */
export async function withBankAccount(
  context: ChangeContext,
  transfer: PaymentRow,
  wallet: WalletRow,
): Promise<PaymentRow> {
  const { kind, partyId, externalAccountId, amountCents } = transfer
  const account = await findExternalAccount(context.tx, partyId, externalAccountId ?? '')
  if (account === undefined) {
    const pointer = kind === 'payment' ? 'paymentSource/externalAccountId' : 'externalAccountId'
    fail('not_found', {
      detail: `There is no bank account ${externalAccountId}. list_external_accounts lists the linked accounts.`,
      source: { pointer: `/data/attributes/${pointer}` },
    })
  }
  requireLinked(account)
  if (kind === 'withdrawal') requireFunds(wallet, amountCents, '/data/attributes/amount')
  else requireConnected(account)
  if (kind === 'deposit' && wallet.status !== 'active') {
    fail('conflict', { detail: `The wallet ${wallet.id} is ${wallet.status}: nothing can be deposited into it.` })
  }
  const { bankName, accountName, lastFour: accountLastFour } = account
  const storedAccount: BankAccount = { name: `${bankName} ${accountName}`, accountLastFour }
  return { ...transfer, beneficiary: JSON.stringify(storedAccount) }
}

function requireLinked({ id, status }: ExternalAccountRow): void {
  if (status !== 'deleted') return
  fail('conflict', {
    detail: `The bank account ${id} was unlinked. Link it again with link_external_accounts, or use another account.`,
    connectionStatus: 'disconnected',
  })
}

/** Requires an active connection to the bank. Without a connection, no money can be drawn from the account. */
function requireConnected({ id, connectionStatus }: ExternalAccountRow): void {
  if (connectionStatus === 'active') return
  const state = connectionStatus === 'login_required' ? 'requires a new login' : 'is disconnected'
  fail('conflict', {
    detail: `The bank of the account ${id} ${state}, so no money can be drawn from the account. Link it again with link_external_accounts.`,
    connectionStatus,
  })
}

/**
 * Submits a transfer to the bank, and reserves the money of a withdrawal. The caller must save the returned transfer.
 */
export async function submit(context: ChangeContext, transfer: PaymentRow, wallet: WalletRow): Promise<PaymentRow> {
  const { tx, system, nowMs } = context
  const { id, kind, amountCents } = transfer
  const status = nextBankStatus(transfer.status, 'submit')
  const heldCents = kind === 'withdrawal' ? amountCents : 0
  if (heldCents > 0) await post(tx, system, wallet, reserved(wallet.id, heldCents), { nowMs, sourceId: id })
  const bankDueAtMs = settlesAt(directionOf(kind), (transfer.method ?? 'standard') as BankMethod, nowMs)
  return { ...transfer, status, heldCents, bankDueAtMs, submittedAtMs: nowMs, updatedAtMs: nowMs }
}

/** Cancels everything in review that uses the bank account being unlinked: transfers, payments and their approvals. */
export async function cancelInReview(
  { tx, nowMs }: ChangeContext,
  { partyId, id: externalAccountId }: Pick<ExternalAccountRow, 'partyId' | 'id'>,
): Promise<void> {
  const rows = await paymentsInReview(tx, { partyId, externalAccountId })
  const approvals = await Promise.all(rows.map((row) => findApprovalOf(tx, row)))
  for (const [at, transfer] of rows.entries()) {
    const approval = approvals[at]
    if (approval === undefined) throw new Error(`Bug: ${transfer.id} is in review without an approval.`)
    const status = nextApprovalStatus(approval.status, 'cancel')
    await resolveApproval(tx, approval, transfer, { status, denialReason: null, nowMs })
    const canceled = { ...transfer, status: nextBankStatus(transfer.status, 'cancel'), updatedAtMs: nowMs }
    await replacePayment(tx, transfer, canceled)
  }
}
