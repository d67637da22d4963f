import type { z } from 'zod'
import {
  type CardTransaction,
  type cardTransactions,
  type DeclineCode,
  declines,
} from '../../../tools/card-transactions.ts'
import { fail } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import { requireHeldOnWallet } from '../request/actor.ts'
import { type Context, cardScope, type HandlersOf, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { declineReason, requireNotFrozen } from '../rules/agent-cards.ts'
import { capture, refund, release } from '../rules/card-purchases.ts'
import { staysUnresolved } from '../rules/faults.ts'
import { authorized, captured, type Posting, refunded, released } from '../rules/ledger.ts'
import { markAgentCardUsed } from '../store/agent-cards.ts'
import {
  findCardTransaction,
  insertCardTransaction,
  listCardTransactions,
  newPurchase,
  replaceCardTransaction,
} from '../store/card-transactions.ts'
import { post } from '../store/ledger.ts'
import type { CardTransactionRow } from '../store/schema/card-transactions.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import { findWallet } from '../store/wallets.ts'
import { loadCard } from './agent-cards.ts'
import { requirePurchaseWithinLimits } from './steps/check-spending-limits.ts'

export const cardTransactionHandlers = {
  getCardTransaction: async ({ cardTransactionId }, context) =>
    transactionView((await loadTransaction(context, cardTransactionId)).transaction),

  listCardTransactions: async (input, context) => {
    const scope = walletListScope(context)
    const filter = { cardId: input.cardId, status: input.status }
    const list = { list: 'cardTransactions', ...scope, ...filter }
    return page(await listCardTransactions(context.tx, scope, filter, pageRequest(input, list)), list, transactionView)
  },

  simulateCardAuthorization: async (input, context) => {
    const { tx, actor, instanceId, nowMs, system, attempt } = context
    const card = await loadCard(context, input.cardId)
    requireNotFrozen(card, nowMs)
    if (attempt === 'first' && staysUnresolved(input.merchant.name)) {
      const detail =
        'The simulation was accepted but is not resolved yet. Repeat the request with the same Idempotency-Key.'
      fail('service_unavailable', { detail, retryable: true })
    }
    const wallet = await loadWallet(context, card.walletId)
    const amountCents = input.amount
    // A wallet that is frozen has nothing to spend: it has no decline code of its own (docs/service.md#card-declines).
    const availableCents = wallet.status === 'active' ? wallet.availableCents : 0
    const declineCode = declineReason({ card, amountCents, availableCents, nowMs })
    const approved = declineCode === null
    if (approved) await requirePurchaseWithinLimits(tx, card, amountCents, nowMs)
    const row = newPurchase(card, {
      id: newId('cit', system, nowMs),
      merchantName: input.merchant.name,
      amountCents,
      declineCode,
      agentId: actor.agentId,
      instanceId,
      createdAtMs: nowMs,
    })
    await insertCardTransaction(tx, row)
    if (approved) {
      await markAgentCardUsed(tx, card, nowMs)
      await post(tx, system, wallet, authorized(wallet.id, amountCents), { nowMs, sourceId: row.id })
    }
    return transactionView(row)
  },

  simulateCardCapture: async (input, context) => {
    const { transaction, wallet } = await loadTransaction(context, input.cardTransactionId)
    const after = capture(transaction, input.amount)
    return save(context, wallet, transaction, after, captured(wallet.id, transaction.heldCents, after.capturedCents))
  },

  simulateCardReversal: async ({ cardTransactionId }, context) => {
    const { transaction, wallet } = await loadTransaction(context, cardTransactionId)
    const after = release(transaction, 'reverse')
    return save(context, wallet, transaction, after, released(wallet.id, transaction.heldCents))
  },

  simulateCardExpiration: async ({ cardTransactionId }, context) => {
    const { transaction, wallet } = await loadTransaction(context, cardTransactionId)
    const after = release(transaction, 'expire')
    return save(context, wallet, transaction, after, released(wallet.id, transaction.heldCents))
  },

  simulateCardRefund: async (input, context) => {
    const { tx, actor, instanceId, nowMs, system } = context
    const { transaction, wallet } = await loadTransaction(context, input.cardTransactionId)
    const after = refund(transaction, input.amount)
    const row: CardTransactionRow = {
      ...transaction,
      id: newId('cit', system, nowMs),
      kind: 'refund',
      purchaseId: transaction.id,
      amountCents: input.amount,
      status: 'refunded',
      capturedCents: 0,
      refundedCents: 0,
      agentId: actor.agentId,
      instanceId,
      version: 1,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    await insertCardTransaction(tx, row)
    await replaceCardTransaction(tx, transaction, { ...after, updatedAtMs: nowMs })
    await post(tx, system, wallet, refunded(wallet.id, input.amount), { nowMs, sourceId: row.id })
    return transactionView(row)
  },
} satisfies HandlersOf<typeof cardTransactions>

/** Writes a purchase's new state and the posting that goes with it. */
async function save(
  { tx, system, nowMs }: Context,
  wallet: WalletRow,
  before: CardTransactionRow,
  after: CardTransactionRow,
  posting: Posting,
) {
  const saved = await replaceCardTransaction(tx, before, { ...after, updatedAtMs: nowMs })
  await post(tx, system, wallet, posting, { nowMs, sourceId: saved.id })
  return transactionView(saved)
}

async function loadTransaction(context: Context, id: string) {
  const { tx, actor, operation } = context
  const transaction = await findCardTransaction(tx, cardScope(context), id)
  if (transaction === undefined) fail('not_found', { detail: `There is no card transaction ${id}.` })
  const wallet = await loadWallet(context, transaction.walletId)
  await requireHeldOnWallet(tx, actor, operation, wallet)
  return { transaction, wallet }
}

async function loadWallet({ tx, partyId }: Context, walletId: string): Promise<WalletRow> {
  const wallet = await findWallet(tx, partyId, walletId)
  if (wallet === undefined) throw new Error(`Bug: the wallet ${walletId} of a card is gone.`)
  return wallet
}

function transactionView(row: CardTransactionRow): z.output<typeof CardTransaction> {
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
