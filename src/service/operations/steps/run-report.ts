import { maskForeignText } from '../../../core/masking.ts'
import type { Environment } from '../../../core/operation.ts'
import { timestamp } from '../../../core/system.ts'
import { cardStatus } from '../../rules/agent-cards.ts'
import {
  cardsFigures,
  declinesOf,
  merchantFigures,
  type ReportApproval,
  type RunReport,
  totalsOf,
} from '../../rules/run-report.ts'
import { actsAbout } from '../../store/activity.ts'
import { findAgent } from '../../store/agents.ts'
import { approvalsOf } from '../../store/approvals.ts'
import type { Store } from '../../store/engine/store.ts'
import type { ActivityRow } from '../../store/schema/activity.ts'
import type { ApprovalRow } from '../../store/schema/approvals.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { RunRow } from '../../store/schema/runs.ts'
import { findUser } from '../../store/users.ts'
import { byId, changesForCustomers, changesOfRun, recordsOfRun } from './run-records.ts'
import { tally } from './run-tally.ts'

/** The maximum numbers of run entries and changes that one report covers. */
export interface Bounds {
  entries: number
  changes: number
}

/**
 * The bounds for each form of the report. A page must render quickly, a download may block the service only briefly,
 * and a command may take longer.
 */
export const pageBounds: Bounds = { entries: 2000, changes: 2000 }
export const downloadBounds: Bounds = { entries: 50_000, changes: 5_000 }
export const commandBounds: Bounds = { entries: 1_000_000, changes: 100_000 }

/** Builds the report of a run, with many short reads instead of one long transaction. Writes nothing. */
export async function runReport(
  store: Pick<Store, 'read'>,
  run: RunRow,
  { bounds, nowMs, environment }: { bounds: Bounds; nowMs: number; environment: Environment },
): Promise<RunReport> {
  const totals = await tally(store, run, bounds.entries)
  const changes = await changesOfRun(store, run, bounds.changes)
  const records = await recordsOfRun(store, run, changes.ids)
  const { partyId, agentId } = run
  const { purchases, charged, payments } = records
  const cards = records.cards.map((card) => ({ ...card, status: cardStatus(card, nowMs) }))
  const paymentIds = payments.map(({ id }) => id)
  const approvals = await store.read((tx) => approvalsOf(tx, partyId, paymentIds))
  const agent = agentId === null ? undefined : await store.read((tx) => findAgent(tx, partyId, agentId))
  return {
    runId: run.id,
    partyId,
    instanceId: run.instanceId,
    environment,
    agent: agent === undefined ? null : { id: agent.id, name: maskForeignText(agent.name) },
    host: run.host,
    from: timestamp(run.firstAtMs),
    to: timestamp(run.lastAtMs),
    calls: run.calls,
    refused: run.refused,
    evaluated: {
      entries: totals.entries,
      calls: totals.calls,
      toolReads: totals.toolReads,
      changes: changes.rows,
      complete: totals.complete && changes.complete,
    },
    totals: totalsOf(cards, purchases),
    cards: cardsFigures(cards, purchases),
    merchants: merchantFigures(purchases),
    declines: declinesOf(cards, purchases),
    payments: payments.map((row) => ({ kind: row.kind, ...reportedPayment(row) })),
    requests: records.requests.map(reportedPayment),
    subscriptions: records.subscriptions.map(({ id, status, isOwn }) => {
      return { id, status, chargedCents: charged.get(id) ?? 0, isOwn }
    }),
    customers: await changesForCustomers(store, run, changes.byCustomer),
    approvals: await Promise.all(approvals.sort(byId).map((one) => reportedApproval(store, one))),
    questions: totals.questions,
    repeats: totals.repeats,
    faults: totals.faults,
    refusals: totals.refusals,
    wallets: records.wallets,
    postings: totals.postings,
    chain: chainOf(changes.first, changes.last),
  }
}

type ReportedPayment = Pick<PaymentRow, 'id' | 'amountCents' | 'description'> & { status: string; isOwn: boolean }

/** Returns the fields that the report shows for a payment or payment request. */
function reportedPayment({ id, status, amountCents, description, isOwn }: ReportedPayment) {
  return { id, status, amountCents, description: description === null ? null : maskForeignText(description), isOwn }
}

/**
 * Returns the part of the party's hash chain from the run's first change to its last change, including all other
 * changes in between.
 */
function chainOf(first: ActivityRow | undefined, last: ActivityRow | undefined): RunReport['chain'] {
  if (first === undefined || last === undefined) return { rows: 0, first: null, last: null }
  const place = ({ sequence, hash }: ActivityRow) => ({ sequence, hash })
  return { rows: last.sequence - first.sequence + 1, first: place(first), last: place(last) }
}

/** Returns an approval with the user or key that decided it, according to the activity log. */
async function reportedApproval(store: Pick<Store, 'read'>, approval: ApprovalRow): Promise<ReportApproval> {
  const { id, partyId, paymentId, status, resolvedAtMs } = approval
  const acts = resolvedAtMs === null ? [] : await store.read((tx) => actsAbout(tx, partyId, id, 50))
  const act = acts.findLast((one) => one.status < 300 && /approv|den|decid/.test(one.operation))
  const userId = act?.userId ?? null
  const user = userId === null ? undefined : await store.read((tx) => findUser(tx, userId))
  return {
    id,
    paymentId,
    status,
    decidedBy: user === undefined ? (userId ?? act?.keyId ?? null) : maskForeignText(user.name),
    by: act === undefined ? null : act.keyId === act.userId ? 'page' : 'api',
    decidedAt: resolvedAtMs === null ? null : timestamp(resolvedAtMs),
  }
}
