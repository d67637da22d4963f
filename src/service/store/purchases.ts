import { newId, type System } from '../../core/system.ts'
import { capture, refund, release } from '../rules/card-purchases.ts'
import { authorized, captured, type Posting, refunded, released } from '../rules/ledger.ts'
import { markAgentCardUsed } from './agent-cards.ts'
import { insertCardTransaction, newPurchase, replaceCardTransaction } from './card-transactions.ts'
import type { Transaction } from './engine/store.ts'
import { post } from './ledger.ts'
import type { AgentCardRow } from './schema/agent-cards.ts'
import type { CardTransactionRow } from './schema/card-transactions.ts'
import type { WalletRow } from './schema/wallets.ts'

/** The database transaction of a change to a purchase, and the time of the change. */
interface Context {
  tx: Transaction
  system: System
  atMs: number
}

/** The agent whose run caused a merchant's action, and the instance id of the run. */
type Cause = Pick<CardTransactionRow, 'agentId' | 'instanceId'>

/** A purchase, and the wallet that pays for it. */
export interface Paid {
  purchase: CardTransactionRow
  wallet: WalletRow
}

/**
 * Records a merchant's attempt to charge a card. If the attempt is approved, marks the card as used and puts the amount
 * on hold.
 */
export async function enterPurchase(
  { tx, system, atMs }: Context,
  { card, wallet }: { card: AgentCardRow; wallet: WalletRow },
  attempt: Pick<CardTransactionRow, 'merchantName' | 'amountCents' | 'declineCode'> & Cause,
): Promise<CardTransactionRow> {
  const row = newPurchase(card, { ...attempt, id: newId('cit', system, atMs), createdAtMs: atMs })
  await insertCardTransaction(tx, row)
  if (attempt.declineCode !== null) return row
  await markAgentCardUsed(tx, card, atMs)
  await post(tx, system, wallet, authorized(wallet.id, row.amountCents), { nowMs: atMs, sourceId: row.id })
  return row
}

/**
 * Captures an authorized purchase in whole or in part.
 * @throws 409 if the purchase's state does not allow a capture; 422 if the amount exceeds the authorized amount.
 */
export function capturePurchase(
  context: Context,
  { purchase, wallet }: Paid,
  amountCents: number,
): Promise<CardTransactionRow> {
  const after = capture(purchase, amountCents)
  return save(context, { purchase, wallet }, after, captured(wallet.id, purchase.heldCents, after.capturedCents))
}

/** Releases the hold of an authorized purchase. @throws 409 if the purchase's state does not allow a release. */
export function releasePurchase(
  context: Context,
  { purchase, wallet }: Paid,
  how: 'reverse' | 'expire',
): Promise<CardTransactionRow> {
  const after = release(purchase, how)
  return save(context, { purchase, wallet }, after, released(wallet.id, purchase.heldCents))
}

/**
 * Refunds all or part of the captured amount. The refund is a separate card transaction.
 * @throws 409 if the purchase's state does not allow a refund; 422 if the amount exceeds what is left to refund.
 */
export async function refundPurchase(
  { tx, system, atMs }: Context,
  { purchase, wallet }: Paid,
  amountCents: number,
  cause: Cause,
): Promise<{ refund: CardTransactionRow; purchase: CardTransactionRow }> {
  const after = refund(purchase, amountCents)
  const row: CardTransactionRow = {
    ...purchase,
    ...cause,
    id: newId('cit', system, atMs),
    kind: 'refund',
    purchaseId: purchase.id,
    amountCents,
    status: 'refunded',
    heldCents: 0,
    capturedCents: 0,
    refundedCents: 0,
    holdExpiresAtMs: null,
    version: 1,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  }
  await insertCardTransaction(tx, row)
  const saved = await replaceCardTransaction(tx, purchase, { ...after, updatedAtMs: atMs })
  await post(tx, system, wallet, refunded(wallet.id, amountCents), { nowMs: atMs, sourceId: row.id })
  return { refund: row, purchase: saved }
}

/** Saves a purchase's new state, and enters the posting for the change. */
async function save(
  { tx, system, atMs }: Context,
  { purchase, wallet }: Paid,
  after: CardTransactionRow,
  posting: Posting,
): Promise<CardTransactionRow> {
  const saved = await replaceCardTransaction(tx, purchase, { ...after, updatedAtMs: atMs })
  await post(tx, system, wallet, posting, { nowMs: atMs, sourceId: saved.id })
  return saved
}
