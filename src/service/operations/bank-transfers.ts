import type { bankTransfers } from '../../../tools/bank-transfers.ts'
import { transfers } from '../../../tools/transfers.ts'
import { fail } from '../../core/errors.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { requireWalletPermission } from '../request/permission-checks.ts'
import { type BankMethod, type BankStep, defaultReasons, directionOf, returnsAt } from '../rules/bank-transfers.ts'
import { actAtBank, loadAtBank } from '../store/bank-transfers.ts'
import { findPaymentOfAnyParty } from '../store/payments.ts'
import { payingWallet, send } from './steps/move-money.ts'
import { transferView } from './transfers.ts'

export const bankTransferHandlers = {
  createDeposit: async (input, context) => transfer(context, 'deposit', { ...input, method: 'standard' }),

  createWithdrawal: async (input, context) => transfer(context, 'withdrawal', input),

  simulateTransferSettlement: async ({ transferId }, context) => simulate(context, transferId, { does: 'settle' }),

  simulateTransferFailure: async ({ transferId, ...why }, context) =>
    simulate(context, transferId, { does: 'fail', ...why }),

  simulateTransferReturn: async ({ transferId, ...why }, context) =>
    simulate(context, transferId, { does: 'return', ...why }),
} satisfies HandlersOf<typeof bankTransfers>

interface TransferInput {
  amount: number
  currency: 'USD'
  externalAccountId: string
  method: BankMethod
  walletId?: string | undefined
  description?: string | undefined
  tags?: Record<string, string> | undefined
}

async function transfer(context: Context, kind: 'deposit' | 'withdrawal', input: TransferInput) {
  const { externalAccountId, method, walletId, description, tags } = input
  const wallet = await payingWallet(context, walletId)
  const sent = await send(context, wallet, {
    kind,
    externalAccountId,
    method,
    amountCents: input.amount,
    currency: input.currency,
    description: description ?? null,
    tags: JSON.stringify(tags ?? {}),
  })
  return transferView(sent)
}

interface SimulatedStep {
  does: BankStep['does']
  code?: string | undefined
  reason?: string | undefined
}

/**
 * Simulates a step of the bank in a transfer of the caller's party, or in a transfer that the calling agent requested
 * for a customer.
 * @throws 404 for any other transfer, 403 if the caller may not read the transfer, 409 if the bank cannot take this
 * step.
 */
async function simulate(context: Context, id: string, simulated: SimulatedStep) {
  const { tx, actor } = context
  const row = await findPaymentOfAnyParty(tx, id)
  const isOwn = row?.partyId === actor.partyId || (actor.agentId !== null && row?.agentId === actor.agentId)
  if (row === undefined || row.kind === 'payment' || !isOwn)
    fail('not_found', { detail: `There is no transfer ${id}.` })
  // The response contains the whole transfer, so only callers who may read the transfer can simulate the bank.
  await requireWalletPermission(tx, actor, transfers.getTransfer, { id: row.walletId, partyId: row.partyId })
  if (row.externalAccountId === null) {
    fail('conflict', {
      detail: `The transfer ${id} does not use a linked bank account, so there is no bank to simulate.`,
    })
  }
  const { does, code, reason } = simulated
  const defaults = does === 'settle' ? { code: '', reason: '' } : defaultReasons[does][directionOf(row.kind)]
  const atBank = await loadAtBank(tx, row)
  const { bankAccountId } = atBank.account
  const nextDueAtMs = does === 'settle' ? returnsAt(row.kind, bankAccountId, context.nowMs) : null
  const step: BankStep = { does, code: code ?? defaults.code, reason: reason ?? defaults.reason, nextDueAtMs }
  return transferView(await actAtBank(context, atBank, step))
}
