import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow, PartyRow } from './schema/tables.ts'

/** The party with that e-mail address (lower case) or phone number (E.164); of several the oldest. */
export async function findPartyByAddress(
  tx: Transaction,
  type: 'email' | 'phone',
  value: string,
): Promise<PartyRow | undefined> {
  return (await (type === 'email' ? partyByEmail(tx, { value }) : partyByPhone(tx, { value }))).rows[0]
}

const partyByEmail = prepared((db, by: { value: string }) =>
  db
    .selectFrom('parties')
    .selectAll()
    .where((row) => row.eb(row.fn<string>('lower', ['email']), '=', by.value))
    .orderBy('id')
    .limit(1),
)

const partyByPhone = prepared((db, by: { value: string }) =>
  db.selectFrom('parties').selectAll().where('phone', '=', by.value).orderBy('id').limit(1),
)

/** The party with that handle, which is written without `@`. */
export async function findPartyByHandle(tx: Transaction, handle: string): Promise<PartyRow | undefined> {
  return (await partyByHandle(tx, { handle })).rows[0]
}

const partyByHandle = prepared((db, by: { handle: string }) =>
  db.selectFrom('parties').selectAll().where('handle', '=', by.handle),
)

/** An agent, whoever's it is, by its id or its whole handle (`@party-slug`). */
export async function findAgent(
  tx: Transaction,
  by: { id: string } | { handle: string },
): Promise<AgentRow | undefined> {
  return (await ('id' in by ? agentById(tx, by) : agentByHandle(tx, by))).rows[0]
}

const agentById = prepared((db, by: { id: string }) => db.selectFrom('agents').selectAll().where('id', '=', by.id))

const agentByHandle = prepared((db, by: { handle: string }) =>
  db.selectFrom('agents').selectAll().where('handle', '=', by.handle),
)

/** Whether a customer's grant to an agent is in force: to this one, or for a party to any of its own. */
export async function isConnected(
  tx: Transaction,
  to: { partyId: string; agentId: string | null },
  customerPartyId: string,
): Promise<boolean> {
  const { rows } = await grantsOf(tx, { partyId: to.partyId, customerPartyId })
  return rows.some(({ agentId }) => to.agentId === null || to.agentId === agentId)
}

const grantsOf = prepared((db, by: { partyId: string; customerPartyId: string }) =>
  db
    .selectFrom('delegations')
    .select('agentId')
    .where('agentPartyId', '=', by.partyId)
    .where('customerPartyId', '=', by.customerPartyId)
    .where('status', '=', 'ACTIVE'),
)
