import { inserting } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { ApprovalRow } from './schema/approvals.ts'
import { heldBy, type ListScope } from './wallet-permissions.ts'

export async function findApproval(tx: Transaction, partyId: string, id: string): Promise<ApprovalRow | undefined> {
  return (await approvalById(tx, { id, partyId })).rows[0]
}

const approvalById = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('approvals').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

export async function findApprovalOf(tx: Transaction, paymentId: string): Promise<ApprovalRow | undefined> {
  return (await approvalOfPayment(tx, { paymentId })).rows[0]
}

const approvalOfPayment = prepared((db, by: { paymentId: string }) =>
  db.selectFrom('approvals').selectAll().where('paymentId', '=', by.paymentId),
)

/** The approval of what an agent of a party asked to pay for a customer. */
export async function findDelegatedApproval(
  tx: Transaction,
  by: { id: string; agentPartyId: string },
): Promise<ApprovalRow | undefined> {
  return (await delegatedApproval(tx, by)).rows[0]
}

const delegatedApproval = prepared((db, by: { id: string; agentPartyId: string }) =>
  db
    .selectFrom('approvals')
    .innerJoin('payments', 'payments.id', 'approvals.paymentId')
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
  let query = tx.db.selectFrom('approvals').selectAll().where('partyId', '=', scope.partyId)
  if (status !== undefined) query = query.where('status', '=', status)
  query = heldBy(query, scope)
  return readPage(query, page)
}

export const insertApproval = inserting('approvals')

interface Resolution {
  status: ApprovalRow['status']
  denialReason: string | null
  nowMs: number
}

/** Resolves an approval. @throws StaleWriteError when it changed since it was read: one decision wins. */
export async function resolveApproval(tx: Transaction, before: ApprovalRow, to: Resolution): Promise<ApprovalRow> {
  const { status, denialReason, nowMs } = to
  const change = { status, denialReason, updatedAtMs: nowMs, resolvedAtMs: nowMs }
  const { id, version } = before
  mustChangeOne(await update(tx, { ...change, id, version, next: version + 1 }), `approval ${id}`)
  return { ...before, ...change, version: version + 1 }
}

type ApprovalChange = Pick<ApprovalRow, 'status' | 'denialReason' | 'updatedAtMs' | 'resolvedAtMs' | 'id' | 'version'>

const update = prepared((db, { id, version, next, ...change }: ApprovalChange & { next: number }) =>
  db
    .updateTable('approvals')
    .set({ ...change, version: next })
    .where('id', '=', id)
    .where('version', '=', version),
)
