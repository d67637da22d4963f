import type { z } from 'zod'
import {
  type CardTransaction,
  type cardTransactions,
  type DeclineCode,
  declines,
} from '../../../tools/card-transactions.ts'
import { fail } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import { type Context, cardScope, type HandlersOf, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { requireWalletPermission } from '../request/permission-checks.ts'
import { requireNotFrozen } from '../rules/agent-cards.ts'
import { staysUnresolved } from '../rules/faults.ts'
import { findCardTransaction, listCardTransactions } from '../store/card-transactions.ts'
import { capturePurchase, type Paid, refundPurchase, releasePurchase } from '../store/purchases.ts'
import type { CardTransactionRow } from '../store/schema/card-transactions.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import { findWallet } from '../store/wallets.ts'
import { loadPayableCard } from './agent-cards.ts'
import { authorizeCard } from './steps/authorize-card.ts'

export const cardTransactionHandlers = {
  getCardTransaction: async ({ cardTransactionId }, context) =>
    transactionView((await loadTransaction(context, cardTransactionId)).purchase),

  listCardTransactions: async (input, context) => {
    const scope = walletListScope(context)
    const filter = { cardId: input.cardId, status: input.status }
    const list = { list: 'cardTransactions', ...scope, ...filter }
    return page(await listCardTransactions(context.tx, scope, filter, pageRequest(input, list)), list, transactionView)
  },

  simulateCardAuthorization: async (input, context) => {
    const { actor, instanceId, nowMs, attempt } = context
    const payable = await loadPayableCard(context, input.cardId)
    requireNotFrozen(payable.card, nowMs)
    if (attempt === 'first' && staysUnresolved(input.merchant.name)) {
      const detail =
        'The authorization has no result yet. To get the result, repeat the request with the same Idempotency-Key.'
      fail('service_unavailable', { detail, retryable: true })
    }
    const authorized = await authorizeCard(context, payable, {
      merchantName: input.merchant.name,
      amountCents: input.amount,
      agentId: actor.agentId,
      instanceId,
    })
    if ('notAttempted' in authorized) throw authorized.refusal
    return transactionView(authorized.purchase)
  },

  simulateCardCapture: async (input, context) => {
    const paid = await loadTransaction(context, input.cardTransactionId)
    return transactionView(await capturePurchase(atNow(context), paid, input.amount))
  },

  simulateCardReversal: async ({ cardTransactionId }, context) => {
    const paid = await loadTransaction(context, cardTransactionId)
    return transactionView(await releasePurchase(atNow(context), paid, 'reverse'))
  },

  simulateCardExpiration: async ({ cardTransactionId }, context) => {
    const paid = await loadTransaction(context, cardTransactionId)
    return transactionView(await releasePurchase(atNow(context), paid, 'expire'))
  },

  simulateCardRefund: async (input, context) => {
    const { actor, instanceId } = context
    const paid = await loadTransaction(context, input.cardTransactionId)
    const cause = { agentId: actor.agentId, instanceId }
    return transactionView((await refundPurchase(atNow(context), paid, input.amount, cause)).refund)
  },
} satisfies HandlersOf<typeof cardTransactions>

const atNow = ({ tx, system, nowMs }: Context) => ({ tx, system, atMs: nowMs })

async function loadTransaction(context: Context, id: string): Promise<Paid> {
  const { tx, actor, operation } = context
  const transaction = await findCardTransaction(tx, cardScope(context), id)
  if (transaction === undefined) fail('not_found', { detail: `There is no card transaction ${id}.` })
  const wallet = await loadWallet(context, transaction.walletId)
  await requireWalletPermission(tx, actor, operation, wallet)
  return { purchase: transaction, wallet }
}

async function loadWallet({ tx, partyId }: Context, walletId: string): Promise<WalletRow> {
  const wallet = await findWallet(tx, partyId, walletId)
  if (wallet === undefined) throw new Error(`Bug: the wallet ${walletId} of a card is gone.`)
  return wallet
}

export function transactionView(row: CardTransactionRow): z.output<typeof CardTransaction> {
  const declineCode = row.declineCode as DeclineCode | null
  return {
    type: 'cardTransaction',
    id: row.id,
    attributes: {
      kind: row.kind,
      status: row.status,
      amount: row.amountCents,
      currency: row.currency,
      merchant: { name: row.merchantName },
      held: row.heldCents,
      captured: row.capturedCents,
      refunded: row.refundedCents,
      decline: declineCode === null ? null : { code: declineCode, detail: declines[declineCode] },
      holdExpiresAt: row.holdExpiresAtMs === null ? null : timestamp(row.holdExpiresAtMs),
      agentId: row.agentId,
      instanceId: row.instanceId,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: {
      agentCard: { data: { type: 'agentCard', id: row.cardId } },
      purchase: { data: row.purchaseId === null ? null : { type: 'cardTransaction', id: row.purchaseId } },
      party: { data: { type: 'party', id: row.partyId } },
      wallet: { data: { type: 'wallet', id: row.walletId } },
    },
  }
}
