import type { CardScope } from './agent-cards.ts'
import { type PageOf, type PageRequest, pageOf } from './page.ts'
import { StaleWriteError, type Transaction } from './store.ts'
import type { CardTransactionRow, CardTransactionStatus } from './tables.ts'

export interface CardTransactionFilter {
  cardId?: string | undefined
  status?: CardTransactionStatus | undefined
}

/** A transaction of a card in the scope. */
export async function findCardTransaction(
  tx: Transaction,
  scope: CardScope,
  id: string,
): Promise<CardTransactionRow | undefined> {
  return inScope(tx, scope).where('cardTransactions.id', '=', id).executeTakeFirst()
}

export async function listCardTransactions(
  tx: Transaction,
  scope: CardScope,
  filter: CardTransactionFilter,
  page: PageRequest,
): Promise<PageOf<CardTransactionRow>> {
  let query = inScope(tx, scope)
  if (filter.cardId !== undefined) query = query.where('cardTransactions.cardId', '=', filter.cardId)
  if (filter.status !== undefined) query = query.where('cardTransactions.status', '=', filter.status)
  if (page.beforeId !== null) query = query.where('cardTransactions.id', '<', page.beforeId)
  const rows = await query
    .orderBy('cardTransactions.id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
}

export async function insertCardTransaction(tx: Transaction, row: CardTransactionRow): Promise<void> {
  await tx.db.insertInto('cardTransactions').values(row).execute()
}

/** Writes `after` over `before`, and gives it back as it now stands. */
export async function replaceCardTransaction(
  tx: Transaction,
  before: CardTransactionRow,
  after: CardTransactionRow,
): Promise<CardTransactionRow> {
  const { status, heldCents, capturedCents, refundedCents, holdExpiresAtMs, updatedAtMs } = after
  const version = before.version + 1
  const { numUpdatedRows } = await tx.db
    .updateTable('cardTransactions')
    .set({ status, heldCents, capturedCents, refundedCents, holdExpiresAtMs, updatedAtMs, version })
    .where('id', '=', before.id)
    .where('version', '=', before.version)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new StaleWriteError(`card transaction ${before.id}`)
  return { ...after, version }
}

/** Authorizations whose hold has lapsed, the oldest first. */
export async function lapsedAuthorizations(
  tx: Transaction,
  nowMs: number,
  limit: number,
): Promise<CardTransactionRow[]> {
  return tx.db
    .selectFrom('cardTransactions')
    .selectAll()
    .where('holdExpiresAtMs', '<=', nowMs)
    .orderBy('holdExpiresAtMs')
    .orderBy('id')
    .limit(limit)
    .execute()
}

function inScope(tx: Transaction, scope: CardScope) {
  const query = tx.db
    .selectFrom('cardTransactions')
    .selectAll('cardTransactions')
    .where('cardTransactions.partyId', '=', scope.partyId)
  const { agentId } = scope
  if (agentId === null) return query
  return query.where((where) =>
    where.exists(
      where
        .selectFrom('agentCards')
        .select('agentCards.id')
        .whereRef('agentCards.id', '=', 'cardTransactions.cardId')
        .where('agentCards.agentId', '=', agentId),
    ),
  )
}
