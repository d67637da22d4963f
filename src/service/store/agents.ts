import { type Kysely, sql } from 'kysely'
import { newId, type System } from '../../core/system.ts'
import { finding } from './engine/find.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { combinations, walking } from './engine/walk.ts'
import type { AgentRow } from './schema/agents.ts'
import type { Tables } from './schema/tables.ts'
import { attachAgent } from './wallet-agents.ts'

/** An agent of the party's, whatever its status. */
export const findAgent = finding('agents', 'partyId', 'id')

/** An agent by its id or its whole handle (`@party-slug`): what it does may be told to whoever deals with it. */
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

const walk = walking('agents', (db) => db.selectFrom('agents').selectAll())

/** Writes what changed. Last use is written on its own, so it is not among it. */
export async function updateAgent(
  tx: Transaction,
  { partyId, id }: Pick<AgentRow, 'partyId' | 'id'>,
  change: Partial<Omit<AgentRow, 'partyId' | 'id' | 'lastActiveAtMs'>>,
): Promise<void> {
  await tx.db.updateTable('agents').set(change).where('partyId', '=', partyId).where('id', '=', id).execute()
}

/** A party's agents, for the narrowing of another table. */
export function agentsOf(db: Kysely<Tables>, partyId: string) {
  return db.selectFrom('agents').select('agents.id').where('agents.partyId', '=', partyId)
}

/** The agents' parts of the handles of a party's agents. */
export async function slugsOf(tx: Transaction, partyId: string): Promise<string[]> {
  const agents = tx.db.selectFrom('agents').select('slug').where('partyId', '=', partyId)
  const rows = await agents.where('slug', 'is not', null).execute()
  return rows.flatMap(({ slug }) => slug ?? [])
}

/** Few enough that no statement has more parameters than a database takes. */
const handlesAtOnce = 200

/** Whose agents have one of these handles, whichever party's. */
export async function agentsWithHandles(
  tx: Transaction,
  handles: readonly string[],
): Promise<Pick<AgentRow, 'partyId' | 'handle'>[]> {
  const found = []
  for (let first = 0; first < handles.length; first += handlesAtOnce) {
    const some = handles.slice(first, first + handlesAtOnce)
    const agents = tx.db.selectFrom('agents').select(['partyId', 'handle']).where('handle', 'in', some)
    found.push(...(await agents.execute()))
  }
  return found
}

/** Lets the handles of a party's agents begin with another one of its own. */
export async function renameAgents(tx: Transaction, partyId: string, handle: string): Promise<void> {
  const agents = tx.db.updateTable('agents').where('partyId', '=', partyId).where('slug', 'is not', null)
  // One agent may get the handle that another one had: none has any in between.
  await agents.set({ handle: null }).execute()
  await agents.set({ handle: sql<string>`${`@${handle}-`} || ${sql.ref('slug')}` }).execute()
}

/** The names of agents of a party, by their ids. */
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

/** More than a person can choose from by eye. */
const mostAgents = 100

/** A party's agents that work, the one used last first. */
export async function activeAgents(tx: Transaction, partyId: string): Promise<AgentRow[]> {
  const rows = await tx.db
    .selectFrom('agents')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('status', '=', 'ACTIVE')
    .orderBy('id', 'desc')
    .limit(mostAgents)
    .execute()
  return rows.sort((a, b) => (b.lastActiveAtMs ?? 0) - (a.lastActiveAtMs ?? 0))
}

/** The parties that have agents that work: as many as tell one from several. */
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

/** What is told of a new agent; all else is as every agent begins. */
type NewAgent = Pick<AgentRow, 'partyId' | 'name' | 'createdBy'> & Partial<AgentRow>

/** Makes an agent that pays from a wallet of its party's, on which it holds the permissions. */
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

/** Adds an agent, which may use no wallet yet. */
export async function insertAgent(
  tx: Transaction,
  agent: NewAgent & Pick<AgentRow, 'id' | 'createdAtMs'>,
): Promise<AgentRow> {
  const row: AgentRow = { ...fresh, ...agent }
  await tx.db.insertInto('agents').values(row).execute()
  return row
}

const fresh = {
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

/** Notes that a credential of the agent was used; a later use that is already noted stays. */
export async function noteAgentUse(tx: Transaction, id: string, usedAtMs: number): Promise<void> {
  await noteUse(tx, { id, usedAtMs })
}

const noteUse = writing((db, use: { id: string; usedAtMs: number }) =>
  db
    .updateTable('agents')
    .set({ lastActiveAtMs: use.usedAtMs })
    .where('id', '=', use.id)
    .where((row) => row.or([row('lastActiveAtMs', 'is', null), row('lastActiveAtMs', '<', use.usedAtMs)])),
)
