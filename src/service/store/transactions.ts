import { newId, type System } from '../../core/system.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { PaymentRow } from './schema/payments.ts'
import type { TransactionRow } from './schema/transactions.ts'
import type { WalletRow } from './schema/wallets.ts'
import { type ListScope, permittedWallets } from './wallet-permissions.ts'
import { walletsInScope } from './wallets.ts'

export interface TransactionFilter {
  type: 'payment' | 'transfer' | 'all'
  counterpartyPartyId: string | undefined
  walletId: string | undefined
  delegated: boolean | undefined
}

export const insertTransaction = preparedInsert('transactions')

/**
 * Inserts the transaction that records the arrival of a payment's money, and returns the transaction's id. The database
 * allows only one transaction for each payment.
 */
export async function recordArrival(
  { tx, system, nowMs }: { tx: Transaction; system: System; nowMs: number },
  payment: PaymentRow,
  to: WalletRow | null,
): Promise<string> {
  const id = newId('txn', system, nowMs)
  // Money that comes from a card or a bank does not leave a wallet.
  const isFromOutside = payment.kind === 'payment' && (payment.method === 'card' || payment.externalAccountId !== null)
  const deposit = payment.kind === 'deposit'
  await insertTransaction(tx, {
    id,
    partyId: payment.partyId,
    transactionType: payment.kind === 'payment' ? 'payment' : 'transfer',
    paymentId: payment.id,
    subscriptionId: null,
    sourcePartyId: deposit ? null : payment.partyId,
    sourceWalletId: deposit || isFromOutside ? null : payment.walletId,
    destinationPartyId: to?.partyId ?? null,
    destinationWalletId: to?.id ?? null,
    delegated: payment.delegated,
    amountCents: payment.amountCents,
    currency: payment.currency,
    description: payment.description,
    returnedAtMs: null,
    createdAtMs: nowMs,
  })
  return id
}

/** Marks a payment's transaction as returned, because a bank undid the movement of the money. */
export async function markTransactionReturned(
  tx: Transaction,
  { partyId, transactionId }: Pick<PaymentRow, 'partyId' | 'transactionId'>,
  returnedAtMs: number,
): Promise<void> {
  if (transactionId !== null) await markReturned(tx, { partyId, id: transactionId, returnedAtMs })
}

const markReturned = changingOne(
  (db, { partyId, id, returnedAtMs }: { partyId: string; id: string; returnedAtMs: number }) =>
    db
      .updateTable('transactions')
      .set({ returnedAtMs })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('returnedAtMs', 'is', null),
  ({ id }) => `transaction ${id}`,
)

/** Finds a transaction if the party is its payer or its recipient. */
export async function findTransaction(
  tx: Transaction,
  partyId: string,
  id: string,
): Promise<TransactionRow | undefined> {
  const { rows } = await transactionById(tx, { id })
  return rows.find((row) => row.sourcePartyId === partyId || row.destinationPartyId === partyId)
}

const transactionById = prepared((db, by: { id: string }) =>
  db.selectFrom('transactions').selectAll().where('id', '=', by.id),
)

/**
 * Returns the transactions that moved money into or out of a party's wallets, newest first. Outgoing and incoming
 * transactions are read separately. No transaction is returned twice, because the payer and the recipient of a
 * transaction are never the same party.
 */
export async function listTransactions(
  tx: Transaction,
  scope: ListScope,
  { type, delegated, walletId, counterpartyPartyId }: TransactionFilter,
  page: PageRequest,
): Promise<PageOf<TransactionRow>> {
  const narrowed = walletId !== undefined || counterpartyPartyId !== undefined
  const all = narrowed ? await walletsInScope(tx, scope) : await permittedWallets(tx, scope)
  const wallets = walletId === undefined ? all : all?.filter((id) => id === walletId)
  const sides = [
    { own: 'source', other: 'destinationPartyId' },
    { own: 'destination', other: 'sourcePartyId' },
  ] as const
  const branches = sides.flatMap(({ own, other }) =>
    combinations({
      ...(wallets === undefined ? { [`${own}PartyId`]: [scope.partyId] } : { [`${own}WalletId`]: wallets }),
      ...(counterpartyPartyId === undefined ? {} : { [other]: [counterpartyPartyId] }),
      transactionType: type === 'all' ? ['payment', 'transfer'] : [type],
      delegated: delegated === undefined ? [0, 1] : [delegated ? 1 : 0],
    }),
  )
  return walk(tx, branches as Partial<TransactionRow>[], page)
}

const walk = createIndexWalk('transactions', (db) => db.selectFrom('transactions').selectAll())

/** Returns the transactions that moved the money of the given payments. */
export function transactionsOfPayments(
  tx: Transaction,
  partyId: string,
  paymentIds: readonly string[],
): Promise<Pick<TransactionRow, 'id' | 'paymentId'>[]> {
  const entered = tx.db.selectFrom('transactions').select(['id', 'paymentId']).where('partyId', '=', partyId)
  return entered.where('paymentId', 'in', paymentIds).execute()
}
