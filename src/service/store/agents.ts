import { type Kysely, sql } from 'kysely'
import { newId, type System } from '../../core/system.ts'
import { finderOf } from './engine/find.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { prepared, preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { Tables } from './schema/tables.ts'
import { attachAgent } from './wallet-agents.ts'

/** Finds an agent of the party, regardless of the agent's status. */
export const findAgent = finderOf('agents', 'partyId', 'id')

/** Finds an agent of any party by the agent's id or whole handle (`@party-slug`). */
export async function findAgentOfAnyParty(
  tx: Transaction,
  by: { id: string } | { handle: string },
): Promise<AgentRow | undefined> {
  return (await ('id' in by ? anyAgentById(tx, by) : anyAgentByHandle(tx, by))).rows[0]
}

const anyAgentById = prepared((db, by: { id: string }) => db.selectFrom('agents').selectAll().where('id', '=', by.id))

const anyAgentByHandle = prepared((db, by: { handle: string }) =>
  db.selectFrom('agents').selectAll().where('handle', '=', by.handle),
)

export function listAgents(
  tx: Transaction,
  { partyId, status }: { partyId: string; status: AgentRow['status'] | undefined },
  page: PageRequest,
): Promise<PageOf<AgentRow>> {
  const statuses = status === undefined ? (['ACTIVE', 'REVOKED'] as const) : [status]
  return walk(tx, combinations({ partyId: [partyId], status: statuses }), page, partyId)
}

const walk = createIndexWalk('agents', (db) => db.selectFrom('agents').selectAll())

/** Updates the columns of an agent, except the time of the agent's last use, which `noteAgentUse` records. */
export async function updateAgent(
  tx: Transaction,
  { partyId, id }: Pick<AgentRow, 'partyId' | 'id'>,
  change: Partial<Omit<AgentRow, 'partyId' | 'id' | 'lastActiveAtMs'>>,
): Promise<void> {
  await tx.db.updateTable('agents').set(change).where('partyId', '=', partyId).where('id', '=', id).execute()
}

/** Selects the ids of a party's agents, for filtering another table. */
export function agentsOf(db: Kysely<Tables>, partyId: string) {
  return db.selectFrom('agents').select('agents.id').where('agents.partyId', '=', partyId)
}

/** Returns the slugs of a party's agents. A slug is the part of a handle (`@party-slug`) that identifies the agent. */
export async function slugsOf(tx: Transaction, partyId: string): Promise<string[]> {
  const agents = tx.db.selectFrom('agents').select('slug').where('partyId', '=', partyId)
  const rows = await agents.where('slug', 'is not', null).execute()
  return rows.flatMap(({ slug }) => slug ?? [])
}

/** The maximum number of handles in one statement. Databases limit the number of parameters. */
const handlesAtOnce = 200

/** Finds the agents whose handle is one of `handles`, regardless of their party. */
export async function agentsWithHandles(
  tx: Transaction,
  handles: readonly string[],
): Promise<Pick<AgentRow, 'partyId' | 'handle'>[]> {
  const found = []
  for (let first = 0; first < handles.length; first += handlesAtOnce) {
    const batch = handles.slice(first, first + handlesAtOnce)
    const agents = tx.db.selectFrom('agents').select(['partyId', 'handle']).where('handle', 'in', batch)
    found.push(...(await agents.execute()))
  }
  return found
}

/** Changes the handles of a party's agents to match the party's new handle. */
export async function renameAgents(tx: Transaction, partyId: string, handle: string): Promise<void> {
  const agents = tx.db.updateTable('agents').where('partyId', '=', partyId).where('slug', 'is not', null)
  // One agent's new handle may be another agent's old handle, so all handles are removed first.
  await agents.set({ handle: null }).execute()
  await agents.set({ handle: sql<string>`${`@${handle}-`} || ${sql.ref('slug')}` }).execute()
}

/** Finds the agents of a party that have one of the given ids. Returns the names of these agents, keyed by id. */
export async function namesOfAgents(
  tx: Transaction,
  partyId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const agents = tx.db.selectFrom('agents').select(['id', 'name']).where('partyId', '=', partyId)
  const rows = await agents.where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The maximum number of agents in a list that a person chooses from. */
const maxAgents = 100

/**
 * Returns a party's active agents, the most recently used first. If there are more than `maxAgents`, returns only the
 * agents that were created last.
 */
export async function activeAgents(tx: Transaction, partyId: string): Promise<AgentRow[]> {
  const rows = await tx.db
    .selectFrom('agents')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('status', '=', 'ACTIVE')
    .orderBy('id', 'desc')
    .limit(maxAgents)
    .execute()
  return rows.sort((a, b) => (b.lastActiveAtMs ?? 0) - (a.lastActiveAtMs ?? 0))
}

/**
 * Returns the ids of at most two parties with active agents. Callers only need to know whether there is more than one.
 */
export async function partiesWithAgents(tx: Transaction): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('agents')
    .select('partyId')
    .distinct()
    .where('status', '=', 'ACTIVE')
    .limit(2)
    .execute()
  return rows.map(({ partyId }) => partyId)
}

/** The values of a new agent. Omitted columns get default values. */
type NewAgent = Pick<AgentRow, 'partyId' | 'name' | 'createdBy'> & Partial<AgentRow>

/**
 * Creates an agent with the given permissions on a wallet of its party. This wallet becomes the agent's default wallet.
 */
export async function createAgent(
  { tx, system, nowMs }: { tx: Transaction; system: System; nowMs: number },
  agent: NewAgent,
  walletId: string,
  permissions: readonly string[],
): Promise<AgentRow> {
  const id = agent.id ?? newId('agt', system, nowMs)
  const row = await insertAgent(tx, { createdAtMs: nowMs, ...agent, id })
  const { partyId, createdAtMs } = row
  const attached = { partyId, walletId, agentId: id, isDefault: 1, attachedAtMs: createdAtMs } as const
  await attachAgent(tx, attached, permissions)
  return row
}

/** Adds an agent without access to any wallet. */
export async function insertAgent(
  tx: Transaction,
  agent: NewAgent & Pick<AgentRow, 'id' | 'createdAtMs'>,
): Promise<AgentRow> {
  const row: AgentRow = { ...agentDefaults, ...agent }
  await tx.db.insertInto('agents').values(row).execute()
  return row
}

const agentDefaults = {
  description: null,
  tags: '{}',
  slug: null,
  handle: null,
  limits: null,
  status: 'ACTIVE',
  updatedBy: null,
  updatedAtMs: null,
  lastActiveAtMs: null,
} as const

/** Records when a credential of an agent was used. Does nothing if a later use is already recorded. */
export async function noteAgentUse(tx: Transaction, id: string, usedAtMs: number): Promise<void> {
  await noteUse(tx, { id, usedAtMs })
}

const noteUse = preparedWrite((db, use: { id: string; usedAtMs: number }) =>
  db
    .updateTable('agents')
    .set({ lastActiveAtMs: use.usedAtMs })
    .where('id', '=', use.id)
    .where((row) => row.or([row('lastActiveAtMs', 'is', null), row('lastActiveAtMs', '<', use.usedAtMs)])),
)
