import type { Kysely } from 'kysely'
import { cardTransactionStatuses } from '../../../tools/card-transactions.ts'
import { holdLifetimeMs, type PurchaseStatus } from '../rules/card-purchases.ts'
import { purchaseEvent } from '../rules/events.ts'
import { purchaseSpendingCents } from '../rules/limits.ts'
import { type CardScope, cardIssuedTo, findAgentCard } from './agent-cards.ts'
import type { DueOf, Moments } from './clock.ts'
import { inBatches } from './engine/batches.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { AgentCardRow } from './schema/agent-cards.ts'
import type { CardTransactionRow } from './schema/card-transactions.ts'
import type { Tables } from './schema/tables.ts'
import { addSpending } from './spending.ts'
import { type ListScope, permittedWallets } from './wallet-permissions.ts'
import { walletsInScope } from './wallets.ts'

export interface CardTransactionFilter {
  cardId?: string | undefined
  status?: PurchaseStatus | undefined
}

/** Finds a transaction on a card in the scope. */
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
  const { partyId, agentId } = scope
  const { cardId } = filter
  const status = filter.status === undefined ? cardTransactionStatuses : [filter.status]
  if (cardId !== undefined) {
    const [card, held] = await Promise.all([findAgentCard(tx, scope, cardId), permittedWallets(tx, scope)])
    const isShown = card !== undefined && held?.includes(card.walletId) !== false
    return walk(tx, combinations({ cardId: isShown ? [cardId] : [], status }), page, partyId)
  }
  if (agentId === null) return walk(tx, combinations({ partyId: [partyId], status }), page, partyId)
  const walletId = await walletsInScope(tx, scope)
  return walk(tx, combinations({ cardAgentId: [agentId], walletId, status }), page, partyId)
}

const walk = createIndexWalk('cardTransactions', (db) => db.selectFrom('cardTransactions').selectAll())

type Attempt = Pick<
  CardTransactionRow,
  'id' | 'merchantName' | 'amountCents' | 'declineCode' | 'agentId' | 'instanceId' | 'createdAtMs'
>

/**
 * Returns the row for a merchant's attempt to charge a card. The attempt is declined, or it is authorized and the whole
 * amount is held.
 */
export function newPurchase(card: AgentCardRow, attempt: Attempt): CardTransactionRow {
  const { amountCents, declineCode, createdAtMs } = attempt
  const isApproved = declineCode === null
  return {
    ...attempt,
    partyId: card.partyId,
    walletId: card.walletId,
    cardId: card.id,
    cardAgentId: card.agentId,
    kind: 'purchase',
    purchaseId: null,
    currency: card.currency,
    status: isApproved ? 'authorized' : 'declined',
    heldCents: isApproved ? amountCents : 0,
    capturedCents: 0,
    refundedCents: 0,
    holdExpiresAtMs: isApproved ? createdAtMs + holdLifetimeMs : null,
    version: 1,
    updatedAtMs: createdAtMs,
  }
}

/** Adds a purchase or refund. An authorized purchase counts toward the limits of the card's agent. */
export async function insertCardTransaction(tx: Transaction, row: CardTransactionRow): Promise<void> {
  await insert(tx, row)
  recordEvents(tx, withCardAgent(row), [purchaseEvent(undefined, row)], row.createdAtMs)
  await addSpending(tx, withCardAgent(row), {
    cents: purchaseSpendingCents(row),
    atMs: row.createdAtMs,
    nowMs: row.createdAtMs,
  })
}

/**
 * Returns the transaction with `agentId` set to the card's agent. Events and limits concern the card's agent, even if a
 * different agent caused the transaction.
 */
function withCardAgent(row: CardTransactionRow): CardTransactionRow & { agentId: string } {
  return { ...row, agentId: row.cardAgentId }
}

const insert = preparedInsert('cardTransactions')

/** Updates a transaction from `before` to `after`, and returns the updated row. */
export async function replaceCardTransaction(
  tx: Transaction,
  before: CardTransactionRow,
  after: CardTransactionRow,
): Promise<CardTransactionRow> {
  await replace(tx, { ...after, version: before.version, nextVersion: before.version + 1 })
  recordEvents(tx, withCardAgent(after), [purchaseEvent(before, after)], after.updatedAtMs)
  const cents = purchaseSpendingCents(after) - purchaseSpendingCents(before)
  await addSpending(tx, withCardAgent(before), { cents, atMs: before.createdAtMs, nowMs: after.updatedAtMs })
  return { ...after, version: before.version + 1 }
}

const replace = changingOne(
  (db, row: CardTransactionRow & { nextVersion: number }) =>
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
      .where('partyId', '=', row.partyId)
      .where('version', '=', row.version),
  ({ id }) => `card transaction ${id}`,
)

/** Selects the transactions with a hold, and the times at which the holds expire. */
export const holdLapses: Moments = (db, partyId) => {
  const all = db
    .selectFrom('cardTransactions')
    .select(['id', 'partyId', 'holdExpiresAtMs as atMs'])
    .where('holdExpiresAtMs', 'is not', null)
  return partyId === undefined ? all : all.where('partyId', '=', partyId)
}

/** Returns a party's authorizations whose holds have expired. The hold that expired first comes first. */
export async function lapsedAuthorizations(tx: Transaction, due: DueOf): Promise<CardTransactionRow[]> {
  return (await lapsed(tx, due)).rows
}

const lapsed = prepared((db, by: DueOf) =>
  db
    .selectFrom('cardTransactions')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('holdExpiresAtMs', '<=', by.nowMs)
    .orderBy('holdExpiresAtMs')
    .orderBy('id')
    .limit(by.limit),
)

function inScope(db: Kysely<Tables>, scope: CardScope) {
  const query = db
    .selectFrom('cardTransactions')
    .selectAll('cardTransactions')
    .where('cardTransactions.partyId', '=', scope.partyId)
  const { agentId } = scope
  if (agentId === null) return query
  return query.where((where) => where.exists(cardIssuedTo(db, agentId, 'cardTransactions.cardId')))
}

export function cardTransactionsById(
  tx: Transaction,
  partyId: string,
  ids: readonly string[],
): Promise<CardTransactionRow[]> {
  return inBatches(ids, (batch) =>
    tx.db.selectFrom('cardTransactions').selectAll().where('partyId', '=', partyId).where('id', 'in', batch).execute(),
  )
}

/** Returns the purchases and refunds on the given cards, oldest first. */
export async function transactionsOfCards(
  tx: Transaction,
  partyId: string,
  cardIds: readonly string[],
): Promise<CardTransactionRow[]> {
  const rows = await inBatches(cardIds, (batch) =>
    tx.db
      .selectFrom('cardTransactions')
      .selectAll()
      .where('partyId', '=', partyId)
      .where('cardId', 'in', batch)
      .execute(),
  )
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1))
}
