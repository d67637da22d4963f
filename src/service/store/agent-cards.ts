import { type PageOf, type PageRequest, pageOf } from './page.ts'
import { StaleWriteError, type Transaction } from './store.ts'
import type { AgentCardRow } from './tables.ts'

/** Whose cards are meant: those on a party's wallets, for an agent only those issued to it. */
export interface CardScope {
  partyId: string
  agentId: string | null
}

export async function findAgentCard(tx: Transaction, scope: CardScope, id: string): Promise<AgentCardRow | undefined> {
  let query = tx.db.selectFrom('agentCards').selectAll().where('id', '=', id).where('partyId', '=', scope.partyId)
  if (scope.agentId !== null) query = query.where('agentId', '=', scope.agentId)
  return query.executeTakeFirst()
}

export async function listAgentCards(
  tx: Transaction,
  scope: CardScope,
  page: PageRequest,
): Promise<PageOf<AgentCardRow>> {
  let query = tx.db.selectFrom('agentCards').selectAll().where('partyId', '=', scope.partyId)
  if (scope.agentId !== null) query = query.where('agentId', '=', scope.agentId)
  if (page.beforeId !== null) query = query.where('id', '<', page.beforeId)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
}

export async function insertAgentCard(tx: Transaction, row: AgentCardRow): Promise<void> {
  await tx.db.insertInto('agentCards').values(row).execute()
}

/** Marks the card's one purchase as approved. */
export async function markAgentCardUsed(tx: Transaction, card: AgentCardRow, nowMs: number): Promise<void> {
  const { numUpdatedRows } = await tx.db
    .updateTable('agentCards')
    .set({ usedAtMs: nowMs, updatedAtMs: nowMs, version: card.version + 1 })
    .where('id', '=', card.id)
    .where('version', '=', card.version)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new StaleWriteError(`card ${card.id}`)
}
