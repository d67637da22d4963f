import type { z } from 'zod'
import type { Transaction, transactions } from '../../../tools/transactions.ts'
import { fail } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import { type HandlersOf, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { requireDefaultWalletPermission, requireWalletPermission } from '../request/permission-checks.ts'
import type { TransactionRow } from '../store/schema/transactions.ts'
import { findTransaction, listTransactions } from '../store/transactions.ts'

export const transactionHandlers = {
  listTransactions: async (input, context) => {
    const scope = walletListScope(context)
    const { type, counterpartyPartyId, walletId } = input
    const list = { list: 'transactions', ...scope, type, counterpartyPartyId, walletId, delegated: input.delegated }
    const delegated = input.delegated === undefined ? undefined : input.delegated === 'true'
    const filter = { type, counterpartyPartyId, walletId, delegated }
    const rows = await listTransactions(context.tx, scope, filter, pageRequest(input, list))
    return page(rows, list, (row) => transactionView(row, context.partyId))
  },

  getTransaction: async ({ transactionId }, context) => {
    const { tx, actor, operation, partyId } = context
    const row = await findTransaction(tx, partyId, transactionId)
    if (row === undefined) fail('not_found', { detail: `There is no transaction ${transactionId}.` })
    const walletId = walletOf(row, partyId)
    // There is no wallet if the party paid by card or from a bank account. An agent then needs the permission on the
    // party's default wallet.
    if (walletId === null) await requireDefaultWalletPermission(tx, actor, operation, partyId)
    else await requireWalletPermission(tx, actor, operation, { id: walletId, partyId })
    return transactionView(row, partyId)
  },
} satisfies HandlersOf<typeof transactions>

/**
 * Returns the id of the party's wallet that paid or received the money; null if the party paid by card or from a bank
 * account.
 */
function walletOf({ sourcePartyId, sourceWalletId, destinationWalletId }: TransactionRow, partyId: string) {
  return sourcePartyId === partyId ? sourceWalletId : destinationWalletId
}

function transactionView(row: TransactionRow, viewerPartyId: string): z.output<typeof Transaction> {
  const { subscriptionId, returnedAtMs } = row
  const walletId = walletOf(row, viewerPartyId)
  const payment = row.transactionType === 'payment' && subscriptionId === null
  const transfer = row.transactionType === 'transfer'
  const party = (id: string | null) => ({ data: id === null ? null : { type: 'party' as const, id } })
  return {
    type: 'transaction',
    id: row.id,
    attributes: {
      amount: row.amountCents,
      currency: row.currency,
      status: returnedAtMs === null ? 'COMPLETED' : 'RETURNED',
      transactionType: row.transactionType,
      direction: row.sourcePartyId === viewerPartyId ? 'OUTBOUND' : 'INBOUND',
      description: row.description,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: returnedAtMs === null ? null : timestamp(returnedAtMs),
      expectedAvailableAt: null,
    },
    relationships: {
      sourceParty: party(row.sourcePartyId),
      destinationParty: party(row.destinationPartyId),
      payment: { data: payment ? { type: 'payment', id: row.paymentId } : null },
      transfer: { data: transfer ? { type: 'transfer', id: row.paymentId } : null },
      wallet: { data: walletId === null ? null : { type: 'wallet', id: walletId } },
      subscription: { data: subscriptionId === null ? null : { type: 'subscription', id: subscriptionId } },
    },
  }
}
