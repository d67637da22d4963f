import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/tables.ts'

/** An agent of the party's, whatever its status. */
export async function findAgent(tx: Transaction, partyId: string, id: string): Promise<AgentRow | undefined> {
  return (await agentById(tx, { id, partyId })).rows[0]
}

const agentById = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('agents').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

/** The agent that has the handle, whosever it is. */
export async function findAgentByHandle(tx: Transaction, handle: string): Promise<AgentRow | undefined> {
  return tx.db.selectFrom('agents').selectAll().where('handle', '=', handle).executeTakeFirst()
}

export async function listAgents(
  tx: Transaction,
  scope: { partyId: string; status: AgentRow['status'] | undefined },
  page: PageRequest,
): Promise<PageOf<AgentRow>> {
  let query = tx.db.selectFrom('agents').selectAll().where('partyId', '=', scope.partyId)
  if (scope.status !== undefined) query = query.where('status', '=', scope.status)
  if (page.beforeId !== null) query = query.where('id', '<', page.beforeId)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
}

/** Writes what changed. Last use is written on its own, so it is not among it. */
export async function updateAgent(
  tx: Transaction,
  id: string,
  change: Partial<Omit<AgentRow, 'id' | 'lastActiveAtMs'>>,
): Promise<void> {
  await tx.db.updateTable('agents').set(change).where('id', '=', id).execute()
}
