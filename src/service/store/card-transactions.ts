import type { Kysely } from 'kysely'
import type { PurchaseStatus } from '../rules/card-purchases.ts'
import { type CardScope, cardIssuedTo } from './agent-cards.ts'
import type { NextAt } from './clock.ts'
import { inserting } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { CardTransactionRow } from './schema/card-transactions.ts'
import type { Tables } from './schema/tables.ts'
import { heldBy, type ListScope } from './wallet-permissions.ts'

export interface CardTransactionFilter {
  cardId?: string | undefined
  status?: PurchaseStatus | undefined
}

/** A transaction of a card in the scope. */
export async function findCardTransaction(
  tx: Transaction,
  scope: CardScope,
  id: string,
): Promise<CardTransactionRow | undefined> {
  const { partyId, agentId } = scope
  const { rows } = agentId === null ? await ofParty(tx, { id, partyId }) : await ofAgent(tx, { id, partyId, agentId })
  return rows[0]
}

const ofParty = prepared((db, by: { id: string; partyId: string }) =>
  inScope(db, { partyId: by.partyId, agentId: null }).where('cardTransactions.id', '=', by.id),
)

const ofAgent = prepared((db, by: { id: string; partyId: string; agentId: string }) =>
  inScope(db, by).where('cardTransactions.id', '=', by.id),
)

export async function listCardTransactions(
  tx: Transaction,
  scope: ListScope,
  filter: CardTransactionFilter,
  page: PageRequest,
): Promise<PageOf<CardTransactionRow>> {
  let query = inScope(tx.db, scope)
  query = heldBy(query, scope, 'cardTransactions.walletId')
  if (filter.cardId !== undefined) query = query.where('cardTransactions.cardId', '=', filter.cardId)
  if (filter.status !== undefined) query = query.where('cardTransactions.status', '=', filter.status)
  return readPage(query, page, 'cardTransactions.id')
}

export const insertCardTransaction = inserting('cardTransactions')

/** Writes `after` over `before`, and gives it back as it now stands. */
export async function replaceCardTransaction(
  tx: Transaction,
  before: CardTransactionRow,
  after: CardTransactionRow,
): Promise<CardTransactionRow> {
  mustChangeOne(
    await replace(tx, { ...after, version: before.version, nextVersion: before.version + 1 }),
    `card transaction ${before.id}`,
  )
  return { ...after, version: before.version + 1 }
}

const replace = prepared((db, row: CardTransactionRow & { nextVersion: number }) =>
  db
    .updateTable('cardTransactions')
    .set({
      status: row.status,
      heldCents: row.heldCents,
      capturedCents: row.capturedCents,
      refundedCents: row.refundedCents,
      holdExpiresAtMs: row.holdExpiresAtMs,
      updatedAtMs: row.updatedAtMs,
      version: row.nextVersion,
    })
    .where('id', '=', row.id)
    .where('version', '=', row.version),
)

/** When the next hold lapses. */
export const nextLapse: NextAt = (db) =>
  db
    .selectFrom('cardTransactions')
    .select((row) => row.fn.min('holdExpiresAtMs').as('atMs'))
    .where('holdExpiresAtMs', 'is not', null)

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

function inScope(db: Kysely<Tables>, scope: CardScope) {
  const query = db
    .selectFrom('cardTransactions')
    .selectAll('cardTransactions')
    .where('cardTransactions.partyId', '=', scope.partyId)
  const { agentId } = scope
  if (agentId === null) return query
  return query.where((where) => where.exists(cardIssuedTo(db, agentId, 'cardTransactions.cardId')))
}

/**
 * What purchases since then hold or captured: a part of the query that sums what was spent. A purchase is of the agent
 * that its card was issued to, whoever rehearsed it.
 */
export function boughtSince(
  db: Kysely<Tables>,
  scope: CardScope,
  sinceMs: number,
  part: 'heldCents' | 'capturedCents',
) {
  return inScope(db, scope)
    .clearSelect()
    .select((row) => row.fn.sum(`cardTransactions.${part}`).as('cents'))
    .where('cardTransactions.createdAtMs', '>=', sinceMs)
    .where('cardTransactions.kind', '=', 'purchase')
}
