import { maskForeignText } from '../../../core/masking.ts'
import {
  type BalanceEffect,
  effectOfPurchase,
  effectOfRequest,
  effectsOfPayment,
  sumByWallet,
} from '../../rules/balance-effects.ts'
import type { ReportCustomer } from '../../rules/run-report.ts'
import { actsOfRun } from '../../store/activity.ts'
import { cardsById } from '../../store/agent-cards.ts'
import { transactionsOfCards } from '../../store/card-transactions.ts'
import type { Store } from '../../store/engine/store.ts'
import { requestsById } from '../../store/payment-requests.ts'
import { paymentsById } from '../../store/payments.ts'
import type { ActivityRow } from '../../store/schema/activity.ts'
import type { RunRow } from '../../store/schema/runs.ts'
import { chargedCents } from '../../store/subscription-payments.ts'
import { subscriptionsById } from '../../store/subscriptions.ts'

type Reads = Pick<Store, 'read'>

const batch = 500

/** The changes that a run made, according to the activity log. */
export interface Changes {
  /** The number of changes that were read. */
  rows: number
  /** Whether the run made no other changes. */
  complete: boolean
  first: ActivityRow | undefined
  last: ActivityRow | undefined
  /** The ids of all resources that these changes involved. */
  ids: ReadonlySet<string>
  byCustomer: ReadonlyMap<string, CustomerChanges>
}

interface CustomerChanges {
  done: number
  refused: number
  ids: Set<string>
  agentIds: Set<string>
}

export async function changesOfRun(store: Reads, run: RunRow, maxCount: number): Promise<Changes> {
  const ids = new Set<string>()
  const byCustomer = new Map<string, CustomerChanges>()
  let first: ActivityRow | undefined
  let last: ActivityRow | undefined
  for (let rows = 0; ; ) {
    // Reads one row more than the maximum, to find out whether the run made more changes.
    const [after, limit] = [last?.sequence ?? 0, Math.min(batch, maxCount + 1 - rows)]
    const found = await store.read((tx) => actsOfRun(tx, run, after, limit))
    const isMore = rows + found.length > maxCount
    const page = isMore ? found.slice(0, -1) : found
    for (const row of page) {
      const resourceIds = JSON.parse(row.resourceIds) as string[]
      for (const id of resourceIds) ids.add(id)
      if (row.customerPartyId !== null) addChange(byCustomer, row.customerPartyId, row, resourceIds)
    }
    first ??= page[0]
    last = page.at(-1) ?? last
    rows += page.length
    if (isMore || found.length < limit) return { ids, byCustomer, rows, complete: !isMore, first, last }
  }
}

function addChange(byCustomer: Map<string, CustomerChanges>, partyId: string, row: ActivityRow, ids: string[]): void {
  const empty = { done: 0, refused: 0, ids: new Set<string>(), agentIds: new Set<string>() }
  const changes = byCustomer.get(partyId) ?? empty
  byCustomer.set(partyId, changes)
  if (row.status >= 400) changes.refused++
  else changes.done++
  for (const id of ids) changes.ids.add(id)
  if (row.agentId !== null) changes.agentIds.add(row.agentId)
}

/**
 * Loads the records of the run's party that the run created or changed, in their current state. Cards that the run did
 * not create are left out. For other records, `isOwn` states whether the run created the record.
 */
export async function recordsOfRun(store: Reads, { partyId, instanceId }: RunRow, ids: ReadonlySet<string>) {
  const idsWithPrefix = (...prefixes: string[]) =>
    [...ids].filter((id) => prefixes.some((prefix) => id.startsWith(`${prefix}_`))).sort()
  const isOwn = (record: { instanceId: string | null }) => record.instanceId === instanceId
  const cards = (await store.read((tx) => cardsById(tx, partyId, idsWithPrefix('pcd'))))
    .filter(isOwn)
    .sort(byId)
    .map(masked)
  const cardIds = cards.map(({ id }) => id)
  const purchases = (await store.read((tx) => transactionsOfCards(tx, partyId, cardIds))).map(masked)
  const payments = await store.read((tx) => paymentsById(tx, partyId, idsWithPrefix('pay', 'tfr')))
  const requests = await store.read((tx) => requestsById(tx, partyId, idsWithPrefix('prq')))
  const subscriptions = await store.read((tx) => subscriptionsById(tx, partyId, idsWithPrefix('sub')))
  const charged = await store.read((tx) => chargedCents(tx, partyId, idsWithPrefix('sub')))
  const effects: BalanceEffect[] = [
    ...purchases.map(effectOfPurchase),
    ...payments.filter(isOwn).flatMap(effectsOfPayment),
    ...requests.filter(isOwn).map(effectOfRequest),
    ...subscriptions.filter(isOwn).map(({ id, walletId }) => {
      return { walletId, availableCents: charged.get(id) ?? 0, heldCents: 0 }
    }),
  ]
  const withOwnership = <R extends { id: string; instanceId: string | null }>(rows: R[]) =>
    rows.sort(byId).map((row) => ({ ...row, isOwn: isOwn(row) }))
  return {
    cards,
    purchases,
    charged,
    wallets: sumByWallet(effects),
    payments: withOwnership(payments),
    requests: withOwnership(requests),
    subscriptions: withOwnership(subscriptions),
  }
}

/**
 * Masks secrets in a merchant's name, because someone may have typed a card number into the name, and reports are
 * shared.
 */
const masked = <R extends { merchantName: string }>(row: R): R => ({
  ...row,
  merchantName: maskForeignText(row.merchantName),
})

/**
 * Summarizes the run's changes for each customer: how many changes were done, how many were refused, and the cards and
 * payments that the run requested. The purchases on the cards and the statuses of the payments are left out, because
 * they are the customer's data.
 */
export async function changesForCustomers(
  store: Reads,
  { instanceId }: RunRow,
  byCustomer: Changes['byCustomer'],
): Promise<ReportCustomer[]> {
  const customers: ReportCustomer[] = []
  for (const [partyId, { done, refused, ids, agentIds }] of [...byCustomer].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const isOwn = (record: { agentId: string | null; instanceId: string | null }) =>
      record.instanceId === instanceId && agentIds.has(record.agentId ?? '')
    const cards = (await store.read((tx) => cardsById(tx, partyId, [...ids]))).filter(isOwn)
    const payments = (await store.read((tx) => paymentsById(tx, partyId, [...ids]))).filter(isOwn)
    customers.push({
      partyId,
      done,
      refused,
      cards: cards.length,
      payments: payments.length,
      intendedCents: cards.reduce((sum, { maximumAmountCents }) => sum + maximumAmountCents, 0),
      askedCents: payments.reduce((sum, { amountCents }) => sum + amountCents, 0),
    })
  }
  return customers
}

export const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)
