import type { Kysely } from 'kysely'
import { approvalStatuses } from '../../../tools/approvals.ts'
import { approvalEvent } from '../rules/events.ts'
import { inBatches } from './engine/batches.ts'
import { finderOf } from './engine/find.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { ApprovalRow } from './schema/approvals.ts'
import type { PaymentRow } from './schema/payments.ts'
import type { Tables } from './schema/tables.ts'
import { type ListScope, permittedWallets } from './wallet-permissions.ts'

export const findApproval = finderOf('approvals', 'partyId', 'id')

/** Finds the approval of a payment. */
export async function findApprovalOf(
  tx: Transaction,
  { id, partyId }: { id: string; partyId: string },
): Promise<ApprovalRow | undefined> {
  return (await approvalOfPayment(tx, { paymentId: id, partyId })).rows[0]
}

const approvalOfPayment = prepared((db, by: { paymentId: string; partyId: string }) =>
  db.selectFrom('approvals').selectAll().where('partyId', '=', by.partyId).where('paymentId', '=', by.paymentId),
)

/** Creates a subquery for the ids of a party's pending approvals. */
export function pendingApprovals(db: Kysely<Tables>, by: { partyId: string; limit: number }) {
  return db
    .selectFrom('approvals')
    .select('id')
    .where('partyId', '=', by.partyId)
    .where('status', '=', 'pending')
    .limit(by.limit)
}

/** Finds the approval `id` if an agent of the party `agentPartyId` requested the payment on behalf of a customer. */
export async function findDelegatedApproval(
  tx: Transaction,
  by: { id: string; agentPartyId: string },
): Promise<ApprovalRow | undefined> {
  return (await delegatedApproval(tx, by)).rows[0]
}

const delegatedApproval = prepared((db, by: { id: string; agentPartyId: string }) =>
  db
    .selectFrom('approvals')
    .innerJoin('payments', (join) =>
      join.onRef('payments.partyId', '=', 'approvals.partyId').onRef('payments.id', '=', 'approvals.paymentId'),
    )
    .innerJoin('agents', 'agents.id', 'payments.agentId')
    .selectAll('approvals')
    .where('approvals.id', '=', by.id)
    .where('payments.delegated', '=', 1)
    .where('agents.partyId', '=', by.agentPartyId),
)

export async function listApprovals(
  tx: Transaction,
  scope: ListScope,
  status: ApprovalRow['status'] | undefined,
  page: PageRequest,
): Promise<PageOf<ApprovalRow>> {
  const walletId = await permittedWallets(tx, scope)
  const by = { partyId: [scope.partyId], status: status === undefined ? approvalStatuses : [status] }
  return walk(tx, walletId === undefined ? combinations(by) : combinations({ ...by, walletId }), page, scope.partyId)
}

const walk = createIndexWalk('approvals', (db) => db.selectFrom('approvals').selectAll())

/** The payment to approve. The agent of this payment receives the events of the approval. */
type PaymentToApprove = Pick<PaymentRow, 'agentId'>

export async function insertApproval(tx: Transaction, row: ApprovalRow, { agentId }: PaymentToApprove): Promise<void> {
  await insert(tx, row)
  recordEvents(tx, { ...row, agentId }, [approvalEvent(row.status)], row.createdAtMs)
}

const insert = preparedInsert('approvals')

interface Resolution {
  status: ApprovalRow['status']
  denialReason: string | null
  nowMs: number
}

/**
 * Resolves an approval. If several decisions are made at the same time, only one takes effect.
 * @throws StaleWriteError if the approval has changed since it was read.
 */
export async function resolveApproval(
  tx: Transaction,
  before: ApprovalRow,
  { agentId }: PaymentToApprove,
  to: Resolution,
): Promise<ApprovalRow> {
  const { status, denialReason, nowMs } = to
  const change = { status, denialReason, updatedAtMs: nowMs, resolvedAtMs: nowMs }
  const { partyId, id, version } = before
  await update(tx, { ...change, partyId, id, version, next: version + 1 })
  const after = { ...before, ...change, version: version + 1 }
  recordEvents(tx, { ...after, agentId }, [approvalEvent(status)], nowMs)
  return after
}

type Resolved = 'status' | 'denialReason' | 'updatedAtMs' | 'resolvedAtMs'
type ApprovalChange = Pick<ApprovalRow, Resolved | 'partyId' | 'id' | 'version'> & { next: number }

const update = changingOne(
  (db, { partyId, id, version, next, ...change }: ApprovalChange) =>
    db
      .updateTable('approvals')
      .set({ ...change, version: next })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('version', '=', version),
  ({ id }) => `approval ${id}`,
)

export function approvalsOf(tx: Transaction, partyId: string, paymentIds: readonly string[]): Promise<ApprovalRow[]> {
  return inBatches(paymentIds, (batch) =>
    tx.db.selectFrom('approvals').selectAll().where('partyId', '=', partyId).where('paymentId', 'in', batch).execute(),
  )
}
