import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { StaleWriteError, type Transaction } from './engine/store.ts'
import type { ApprovalRow } from './schema/payment-tables.ts'
import { type ListScope, walletsHeld } from './wallet-permissions.ts'

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
  { partyId, agentId, mustHold }: ListScope,
  status: ApprovalRow['status'] | undefined,
  page: PageRequest,
): Promise<PageOf<ApprovalRow>> {
  let query = tx.db.selectFrom('approvals').selectAll().where('partyId', '=', partyId)
  if (status !== undefined) query = query.where('status', '=', status)
  if (agentId !== null && mustHold !== null) {
    query = query.where('walletId', 'in', walletsHeld(tx.db, agentId, mustHold))
  }
  if (page.beforeId !== null) query = query.where('id', '<', page.beforeId)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
}

export async function insertApproval(tx: Transaction, row: ApprovalRow): Promise<void> {
  await insert(tx, row)
}

const insert = prepared((db, row: ApprovalRow) => db.insertInto('approvals').values(row))

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
  const { numAffectedRows } = await update(tx, { ...change, id, version, next: version + 1 })
  if (numAffectedRows !== 1n) throw new StaleWriteError(`approval ${id}`)
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
