import type { System } from '../../core/system.ts'
import { type BankStep, directionOf, nextAtBank, nextBankStatus } from '../rules/bank-transfers.ts'
import { deposited, depositReturned, type Posting, released, withdrawalReturned, withdrawn } from '../rules/ledger.ts'
import type { BankReason } from '../rules/test-bank.ts'
import type { DueOf } from './clock.ts'
import type { Transaction } from './engine/store.ts'
import { findExternalAccount } from './external-accounts.ts'
import { post } from './ledger.ts'
import { findPaymentRequest } from './payment-requests.ts'
import { dueAtBanks, replacePayment } from './payments.ts'
import type { ExternalAccountRow } from './schema/external-accounts.ts'
import type { PaymentRow } from './schema/payments.ts'
import type { WalletRow } from './schema/wallets.ts'
import { markTransactionReturned, recordArrival } from './transactions.ts'
import { findWallet } from './wallets.ts'

/** The database transaction in which a bank's step is applied, and the time at which the step takes effect. */
interface StepContext {
  tx: Transaction
  system: System
  nowMs: number
}

/** A transfer at a bank, with its external account and its wallet. */
export interface TransferAtBank {
  row: PaymentRow
  account: ExternalAccountRow
  wallet: WalletRow
}

/**
 * Applies the banks' steps that are due, and returns the number of applied steps. Each step takes effect at the time
 * when it was due, even if this function runs later.
 */
export async function applyBankEvents(tx: Transaction, system: System, due: DueOf): Promise<number> {
  const rows = await dueAtBanks(tx, due)
  // All reads come before the first write, because a read after a write costs an additional round trip.
  let all = await Promise.all(rows.map((row) => loadAtBank(tx, row)))
  for (let count = 0; ; count++) {
    const [first, ...others] = all.filter(({ row }) => dueMs(row) <= due.nowMs).sort(byDue)
    if (first === undefined || count === due.limit) return count
    const step = nextAtBank(first.row, first.account.bankAccountId)
    const row = await actAtBank({ tx, system, nowMs: dueMs(first.row) }, first, step)
    all = [{ ...first, row }, ...others]
  }
}

const dueMs = ({ bankDueAtMs }: PaymentRow) => bankDueAtMs ?? Number.POSITIVE_INFINITY
const byDue = ({ row: a }: TransferAtBank, { row: b }: TransferAtBank) => dueMs(a) - dueMs(b) || (a.id < b.id ? -1 : 1)

/** Loads the bank account and the wallet of a bank transfer, or of a payment from a bank account. */
export async function loadAtBank(tx: Transaction, row: PaymentRow): Promise<TransferAtBank> {
  const { id, partyId, externalAccountId } = row
  const account = await findExternalAccount(tx, partyId, externalAccountId ?? '')
  const wallet = await (row.kind === 'payment' ? walletOfRequest(tx, row) : findWallet(tx, partyId, row.walletId))
  if (account === undefined || wallet === undefined)
    throw new Error(`Bug: the bank account or wallet of ${id} is gone.`)
  return { row, account, wallet }
}

/** Finds the wallet that a payment request is paid into. */
async function walletOfRequest(tx: Transaction, { recipientPartyId, paymentRequestId }: PaymentRow) {
  const partyId = recipientPartyId ?? ''
  const request = await findPaymentRequest(tx, partyId, paymentRequestId ?? '')
  return request && findWallet(tx, partyId, request.walletId)
}

/** Applies a bank's step. @throws 409 `conflict` if the transfer's state does not allow the step. */
export async function actAtBank(at: StepContext, { row, wallet }: TransferAtBank, step: BankStep): Promise<PaymentRow> {
  const status = nextBankStatus(row.status, step.does)
  const after = await acts[step.does](at, { row, wallet, step })
  return replacePayment(at.tx, row, {
    ...after,
    status,
    bankDueAtMs: step.nextDueAtMs,
    updatedAtMs: at.nowMs,
  })
}

interface StepInput {
  row: PaymentRow
  wallet: WalletRow
  step: BankReason & { nextDueAtMs: number | null }
}

const acts: Record<BankStep['does'], (at: StepContext, input: StepInput) => Promise<PaymentRow>> = {
  settle: async (at, { row, wallet }) => {
    const { amountCents, kind } = row
    const moved = directionOf(kind) === 'deposit' ? deposited : withdrawn
    await enter(at, row, wallet, moved(wallet.id, amountCents))
    const to = directionOf(kind) === 'deposit' ? wallet : null
    return { ...row, heldCents: 0, settledAtMs: at.nowMs, transactionId: await recordArrival(at, row, to) }
  },

  /**
   * Marks a transfer as failed, and makes the held money of a withdrawal available again. For a deposit, there is
   * nothing to undo: no money is held, and nothing has been posted.
   */
  fail: async (at, { row, wallet, step: { code, reason } }) => {
    if (row.heldCents > 0) await enter(at, row, wallet, released(wallet.id, row.heldCents))
    return { ...row, heldCents: 0, failure: JSON.stringify({ code, reason }) }
  },

  return: async (at, { row, wallet, step: { code, reason } }) => {
    const moved = directionOf(row.kind) === 'deposit' ? depositReturned : withdrawalReturned
    await enter(at, row, wallet, moved(wallet.id, row.amountCents))
    await markTransactionReturned(at.tx, row, at.nowMs)
    return { ...row, returned: JSON.stringify({ code, reason, returnedAtMs: at.nowMs }) }
  },
}

function enter({ tx, system, nowMs }: StepContext, { id, partyId }: PaymentRow, wallet: WalletRow, posting: Posting) {
  // If the payment and the wallet belong to different parties, this transaction locks rows of both parties.
  if (wallet.partyId !== partyId) tx.runAlone()
  return post(tx, system, wallet, posting, { nowMs, sourceId: id })
}
