import { sql } from 'kysely'
import type { Transaction } from './engine/store.ts'
import type { ActivityRow } from './schema/activity.ts'
import type { AgentCardRow } from './schema/agent-cards.ts'
import type { ApprovalRow } from './schema/approvals.ts'
import type { CardTransactionRow } from './schema/card-transactions.ts'
import { activityKey } from './schema/list-keys.ts'
import type { PaymentRow } from './schema/payments.ts'
import type { RunRow } from './schema/runs.ts'
import type { SubscriptionRow } from './schema/subscriptions.ts'

/** Whose records, of which run. */
export interface RunOwner {
  partyId: string
  instanceId: string | null
}

/** What was recorded of a run behind a number of the party's chain, in its order: by the index of runs. */
export function actsOfRun(tx: Transaction, run: RunOwner, after: number, limit: number): Promise<ActivityRow[]> {
  const { partyId, instanceId } = run
  if (instanceId === null)
    return tx.db
      .selectFrom('activity')
      .selectAll()
      .where('partyId', '=', partyId)
      .where('instanceId', 'is', null)
      .where('sequence', '>', after)
      .orderBy('sequence')
      .limit(limit)
      .execute()
  const key = activityKey(partyId, { agentId: null, instanceId, resourceId: null })
  return tx.db
    .selectFrom('activityKeys')
    .innerJoin('activity', 'activity.sequence', 'activityKeys.sequence')
    .selectAll('activity')
    .where('activityKeys.key', '=', key)
    .where('activityKeys.sequence', '>', after)
    .where('activity.partyId', '=', partyId)
    .where('activity.instanceId', '=', instanceId)
    .orderBy('activityKeys.sequence')
    .limit(limit)
    .execute()
}

/** What was recorded of one thing, in the order of the chain. */
export function actsAbout(tx: Transaction, partyId: string, resourceId: string, limit: number): Promise<ActivityRow[]> {
  const key = activityKey(partyId, { agentId: null, instanceId: null, resourceId })
  return tx.db
    .selectFrom('activityKeys')
    .innerJoin('activity', 'activity.sequence', 'activityKeys.sequence')
    .selectAll('activity')
    .where(sql.ref('activityKeys.key'), '=', key)
    .where('activity.partyId', '=', partyId)
    .orderBy('activityKeys.sequence')
    .limit(limit)
    .execute()
}

/** So many ids stand in one query. */
const together = 200

async function inParts<Row>(ids: readonly string[], read: (some: readonly string[]) => Promise<Row[]>): Promise<Row[]> {
  const rows: Row[] = []
  for (let from = 0; from < ids.length; from += together) rows.push(...(await read(ids.slice(from, from + together))))
  return rows
}

export function cardsById(tx: Transaction, partyId: string, ids: readonly string[]): Promise<AgentCardRow[]> {
  return inParts(ids, (some) =>
    tx.db.selectFrom('agentCards').selectAll().where('partyId', '=', partyId).where('id', 'in', some).execute(),
  )
}

/** Purchases and refunds on cards. */
export async function transactionsOfCards(
  tx: Transaction,
  partyId: string,
  cardIds: readonly string[],
): Promise<CardTransactionRow[]> {
  const rows = await inParts(cardIds, (some) =>
    tx.db
      .selectFrom('cardTransactions')
      .selectAll()
      .where('partyId', '=', partyId)
      .where('cardId', 'in', some)
      .execute(),
  )
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1))
}

export function paymentsById(tx: Transaction, partyId: string, ids: readonly string[]): Promise<PaymentRow[]> {
  return inParts(ids, (some) =>
    tx.db.selectFrom('payments').selectAll().where('partyId', '=', partyId).where('id', 'in', some).execute(),
  )
}

export function approvalsOf(tx: Transaction, partyId: string, paymentIds: readonly string[]): Promise<ApprovalRow[]> {
  return inParts(paymentIds, (some) =>
    tx.db.selectFrom('approvals').selectAll().where('partyId', '=', partyId).where('paymentId', 'in', some).execute(),
  )
}

export function subscriptionsById(
  tx: Transaction,
  partyId: string,
  ids: readonly string[],
): Promise<SubscriptionRow[]> {
  return inParts(ids, (some) =>
    tx.db.selectFrom('subscriptions').selectAll().where('partyId', '=', partyId).where('id', 'in', some).execute(),
  )
}

/** The runs that somebody may mean, of every party: those with the id, or the instance id. */
export function runsNamed(tx: Transaction, name: string): Promise<RunRow[]> {
  return tx.db
    .selectFrom('runs')
    .selectAll()
    .where((run) => run.or([run('id', '=', name), run('instanceId', '=', name)]))
    .limit(20)
    .execute()
}

/** The newest runs of every party. */
export function newestRuns(tx: Transaction, limit: number): Promise<RunRow[]> {
  return tx.db.selectFrom('runs').selectAll().orderBy('lastEntryId', 'desc').limit(limit).execute()
}
