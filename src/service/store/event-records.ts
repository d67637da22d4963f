import type { EventWord } from '../rules/event-types.ts'
import { findInvitations } from './customer-invitations.ts'
import type { Transaction } from './engine/store.ts'
import type { ComplianceCaseRow } from './schema/compliance-cases.ts'
import type { DelegationRow } from './schema/delegations.ts'
import type { PartyRow } from './schema/parties.ts'
import type { Tables } from './schema/tables.ts'
import type { WebhookRow } from './schema/webhooks.ts'
import { findShopOrders } from './shop-orders.ts'
import { findSubscriptions } from './subscriptions.ts'

/** A party, and the ids of the records that the party's events concern. */
interface RecordIds {
  partyId: string
  ids: readonly string[]
}

type PartyTable = {
  [Name in keyof Tables]: Tables[Name] extends { id: string; partyId: string } ? Name : never
}[keyof Tables]

/**
 * Selects rows of a table by their ids. `table` can be any table with the columns `id` and `partyId`. The cast to
 * `payments` only satisfies the type checker.
 */
function byIds<Name extends PartyTable>({ db }: Transaction, table: Name, ids: readonly string[]) {
  return db
    .selectFrom(table as 'payments')
    .selectAll()
    .where('id', 'in', ids)
}

/** Makes a function that finds the party's own records in a table. */
function ownedRecordsOf<Name extends PartyTable>(table: Name) {
  return async (tx: Transaction, { partyId, ids }: RecordIds) =>
    (await byIds(tx, table, ids).where('partyId', '=', partyId).execute()) as unknown as Tables[Name][]
}

/**
 * Makes a function that finds records in a table, including records that belong to other parties. For example, a payee
 * gets events about payments, which belong to their senders.
 */
function sharedRecordsOf<Name extends PartyTable>(table: Name) {
  return async (tx: Transaction, lookup: RecordIds): Promise<Tables[Name][]> => {
    const found = (await ownedRecordsOf(table)(tx, lookup)) as { id: string }[]
    const foundIds = new Set(found.map(({ id }) => id))
    const others = lookup.ids.filter((id) => !foundIds.has(id))
    const rest = others.length === 0 ? [] : await byIds(tx, table, others).execute()
    return [...found, ...rest] as unknown as Tables[Name][]
  }
}

const payments = sharedRecordsOf('payments')

const parties = (tx: Transaction, { ids }: RecordIds): Promise<PartyRow[]> =>
  tx.db.selectFrom('parties').selectAll().where('id', 'in', ids).execute()

const cases = (tx: Transaction, { partyId, ids }: RecordIds): Promise<ComplianceCaseRow[]> =>
  tx.db.selectFrom('complianceCases').selectAll().where('partyId', '=', partyId).where('id', 'in', ids).execute()

const delegations = (partyColumn: 'customerPartyId' | 'agentPartyId') => {
  return (tx: Transaction, { partyId, ids }: RecordIds): Promise<DelegationRow[]> =>
    tx.db.selectFrom('delegations').selectAll().where(partyColumn, '=', partyId).where('id', 'in', ids).execute()
}

/** Returns only ids, because the webhooks may already be deleted. The events contain the other fields of a webhook. */
async function webhooks(_tx: Transaction, { partyId, ids }: RecordIds): Promise<Pick<WebhookRow, 'id' | 'partyId'>[]> {
  return ids.map((id) => ({ id, partyId }))
}

/**
 * For each first word of an event type, the function that finds the records of a party's events in their current state.
 * Deleted records are missing from its result. For webhooks and decisions, it returns all ids without a lookup.
 */
const recordsOf = {
  party: parties,
  compliance_case: cases,
  wallet: ownedRecordsOf('wallets'),
  external_account: ownedRecordsOf('externalAccounts'),
  agent_delegation_invitation: findInvitations,
  agent_delegation: delegations('agentPartyId'),
  delegation: delegations('customerPartyId'),
  deposit: payments,
  withdrawal: payments,
  transfer: payments,
  payment: payments,
  approval: ownedRecordsOf('approvals'),
  payment_request: sharedRecordsOf('paymentRequests'),
  party_invitation: ownedRecordsOf('partyInvitations'),
  decision: async (_tx: Transaction, { ids }: RecordIds) => ids.map((id) => ({ id })),
  agent_card: ownedRecordsOf('agentCards'),
  card_transaction: ownedRecordsOf('cardTransactions'),
  subscription: findSubscriptions,
  shop_order: findShopOrders,
  webhook: webhooks,
} as const satisfies { [Word in EventWord]: (tx: Transaction, lookup: RecordIds) => Promise<{ id: string }[]> }

export type RecordOf<Word extends EventWord> = Awaited<ReturnType<(typeof recordsOf)[Word]>>[number]

/** Finds the records of a party's events by the records' ids. Returns a map from each id to its record. */
export async function findRecords(
  tx: Transaction,
  word: EventWord,
  { partyId, ids }: RecordIds,
): Promise<ReadonlyMap<string, { id: string }>> {
  const find: (tx: Transaction, lookup: RecordIds) => Promise<{ id: string }[]> = recordsOf[word]
  const records = await find(tx, { partyId, ids: [...new Set(ids)] })
  return new Map(records.map((record) => [record.id, record]))
}
