import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { TransactionRow } from './schema/payment-tables.ts'
import { type ListScope, walletsHeld } from './wallet-permissions.ts'

export interface TransactionFilter {
  type: 'payment' | 'transfer' | 'all'
  counterpartyPartyId: string | undefined
  walletId: string | undefined
  delegated: boolean | undefined
}

export async function insertTransaction(tx: Transaction, row: TransactionRow): Promise<void> {
  await insert(tx, row)
}

const insert = prepared((db, row: TransactionRow) => db.insertInto('transactions').values(row))

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
  const sent = await side(tx, 'source', scope, filter, page)
  const received = await side(tx, 'destination', scope, filter, page)
  const rows = [...sent, ...received].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, page.limit + 1)
  return pageOf(rows, page.limit, (row) => row.id)
}

/** Each side by its own index; a page of both is at the front of the two together. */
async function side(
  tx: Transaction,
  own: 'source' | 'destination',
  { partyId, agentId, mustHold }: ListScope,
  filter: TransactionFilter,
  page: PageRequest,
): Promise<TransactionRow[]> {
  const other = own === 'source' ? 'destination' : 'source'
  let query = tx.db.selectFrom('transactions').selectAll().where(`${own}PartyId`, '=', partyId)
  if (filter.type !== 'all') query = query.where('transactionType', '=', filter.type)
  if (filter.counterpartyPartyId !== undefined) {
    query = query.where(`${other}PartyId`, '=', filter.counterpartyPartyId)
  }
  if (filter.walletId !== undefined) query = query.where(`${own}WalletId`, '=', filter.walletId)
  if (filter.delegated !== undefined) query = query.where('delegated', '=', filter.delegated ? 1 : 0)
  if (agentId !== null && mustHold !== null) {
    query = query.where(`${own}WalletId`, 'in', walletsHeld(tx.db, agentId, mustHold))
  }
  if (page.beforeId !== null) query = query.where('id', '<', page.beforeId)
  return query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
}

/** By which transaction the money of each payment arrived. */
export function transactionsOfPayments(
  tx: Transaction,
  paymentIds: readonly string[],
): Promise<Pick<TransactionRow, 'id' | 'paymentId'>[]> {
  return tx.db.selectFrom('transactions').select(['id', 'paymentId']).where('paymentId', 'in', paymentIds).execute()
}
