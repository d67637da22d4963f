import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { inserting } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { AgentCardRow } from './schema/agent-cards.ts'
import type { Tables } from './schema/tables.ts'
import { heldBy, type ListScope } from './wallet-permissions.ts'

/** Whose cards are meant: those on a party's wallets, for an agent only those issued to it. */
export interface CardScope {
  partyId: string
  agentId: string | null
}

export async function findAgentCard(tx: Transaction, scope: CardScope, id: string): Promise<AgentCardRow | undefined> {
  const { rows } = await cardById(tx, { id, partyId: scope.partyId })
  return rows.find((row) => scope.agentId === null || row.agentId === scope.agentId)
}

const cardById = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('agentCards').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

export async function listAgentCards(
  tx: Transaction,
  scope: ListScope,
  page: PageRequest,
): Promise<PageOf<AgentCardRow>> {
  let query = tx.db.selectFrom('agentCards').selectAll().where('partyId', '=', scope.partyId)
  if (scope.agentId !== null) query = query.where('agentId', '=', scope.agentId)
  query = heldBy(query, scope)
  return readPage(query, page)
}

export const insertAgentCard = inserting('agentCards')

/**
 * Ends the unused cards of an agent whose right to pay ends: on one wallet, on the wallets of the parties that are its
 * customers by the query, or all. What was authorized goes on, for the merchant has been promised it.
 */
export async function expireUnusedCards(
  tx: Transaction,
  of: {
    agentId: string
    walletId?: string
    partyIds?: SelectQueryBuilder<Tables, 'delegations', { customerPartyId: string }>
  },
  nowMs: number,
): Promise<void> {
  let query = tx.db
    .updateTable('agentCards')
    .set((row) => ({ expiresAtMs: nowMs, updatedAtMs: nowMs, version: row('version', '+', 1) }))
    .where('agentId', '=', of.agentId)
    .where('expiresAtMs', '>', nowMs)
    .where('usedAtMs', 'is', null)
  if (of.walletId !== undefined) query = query.where('walletId', '=', of.walletId)
  if (of.partyIds !== undefined) query = query.where('partyId', 'in', of.partyIds)
  await query.execute()
}

/** Marks the card's one purchase as approved. */
export async function markAgentCardUsed(tx: Transaction, card: AgentCardRow, nowMs: number): Promise<void> {
  const { id, version } = card
  mustChangeOne(await markUsed(tx, { id, version, nowMs, nextVersion: version + 1 }), `card ${card.id}`)
}

const markUsed = prepared((db, card: { id: string; version: number; nowMs: number; nextVersion: number }) =>
  db
    .updateTable('agentCards')
    .set({ usedAtMs: card.nowMs, updatedAtMs: card.nowMs, version: card.nextVersion })
    .where('id', '=', card.id)
    .where('version', '=', card.version),
)

/** Writes whether the card is frozen. */
export async function saveAgentCardFreeze(
  tx: Transaction,
  { id, version }: AgentCardRow,
  after: AgentCardRow,
): Promise<AgentCardRow> {
  const { frozenAtMs, updatedAtMs } = after
  const change = { frozenAtMs, updatedAtMs, version: version + 1 }
  const update = tx.db.updateTable('agentCards').set(change).where('id', '=', id).where('version', '=', version)
  mustChangeOne(await update.executeTakeFirstOrThrow(), `card ${id}`)
  return { ...after, ...change }
}

/** The card that a column of another table names, where it was issued to the agent: for the narrowing of that table. */
export function cardIssuedTo(db: Kysely<Tables>, agentId: string, column: 'cardTransactions.cardId') {
  return db
    .selectFrom('agentCards')
    .select('agentCards.id')
    .where('agentCards.id', '=', sql.ref<string>(column))
    .where('agentCards.agentId', '=', agentId)
}
