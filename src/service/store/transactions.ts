import { inserting } from './engine/insert.ts'
import { type PageOf, type PageRequest, pageOf, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { TransactionRow } from './schema/transactions.ts'
import { heldBy, type ListScope } from './wallet-permissions.ts'

export interface TransactionFilter {
  type: 'payment' | 'transfer' | 'all'
  counterpartyPartyId: string | undefined
  walletId: string | undefined
  delegated: boolean | undefined
}

export const insertTransaction = inserting('transactions')

/** One movement of money that the party is on a side of. */
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

/** What moved in or out of a party's wallets, newest first. No movement has one party on both sides. */
export async function listTransactions(
  tx: Transaction,
  scope: ListScope,
  filter: TransactionFilter,
  page: PageRequest,
): Promise<PageOf<TransactionRow>> {
  const more = { ...page, limit: page.limit + 1 }
  const sent = await readPage(side(tx, 'source', scope, filter), more)
  const received = await readPage(side(tx, 'destination', scope, filter), more)
  const rows = [...sent.rows, ...received.rows].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, more.limit)
  return pageOf(rows, page.limit, (row) => row.id)
}

/** Each side by its own index; a page of both is at the front of the two together. */
function side(tx: Transaction, own: 'source' | 'destination', scope: ListScope, filter: TransactionFilter) {
  const other = own === 'source' ? 'destination' : 'source'
  let query = tx.db.selectFrom('transactions').selectAll().where(`${own}PartyId`, '=', scope.partyId)
  if (filter.type !== 'all') query = query.where('transactionType', '=', filter.type)
  if (filter.counterpartyPartyId !== undefined) {
    query = query.where(`${other}PartyId`, '=', filter.counterpartyPartyId)
  }
  if (filter.walletId !== undefined) query = query.where(`${own}WalletId`, '=', filter.walletId)
  if (filter.delegated !== undefined) query = query.where('delegated', '=', filter.delegated ? 1 : 0)
  query = heldBy(query, scope, `${own}WalletId`)
  return query
}

/** By which transaction the money of each payment arrived. */
export function transactionsOfPayments(
  tx: Transaction,
  paymentIds: readonly string[],
): Promise<Pick<TransactionRow, 'id' | 'paymentId'>[]> {
  return tx.db.selectFrom('transactions').select(['id', 'paymentId']).where('paymentId', 'in', paymentIds).execute()
}
