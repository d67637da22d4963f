import { finderOf } from './engine/find.ts'
import { preparedInsert } from './engine/insert.ts'
import { changingOne } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { ComplianceCaseRow } from './schema/compliance-cases.ts'

/** Finds a party's compliance case; undefined if no review of the party was ever started. */
export const findComplianceCase = finderOf('complianceCases', 'partyId')

/** Opens a compliance case and records an event for the party under review. */
export async function insertComplianceCase(tx: Transaction, row: ComplianceCaseRow): Promise<ComplianceCaseRow> {
  await insert(tx, row)
  recordEvents(tx, { ...row, agentId: null }, ['compliance_case.updated'], row.createdAtMs)
  return row
}

const insert = preparedInsert('complianceCases')

type Decision = Pick<ComplianceCaseRow, 'status' | 'updatedAtMs'>

/** Stores the decision on a compliance case and records an event for the party under review. */
export async function decideComplianceCase(
  tx: Transaction,
  before: ComplianceCaseRow,
  decision: Decision,
): Promise<ComplianceCaseRow> {
  const after = { ...before, ...decision, version: before.version + 1 }
  const { partyId, version } = before
  await update(tx, { ...decision, partyId, version, next: after.version })
  recordEvents(tx, { ...after, agentId: null }, ['compliance_case.updated'], after.updatedAtMs)
  return after
}

const update = changingOne(
  (db, { partyId, version, next, ...decision }: Decision & { partyId: string; version: number; next: number }) =>
    db
      .updateTable('complianceCases')
      .set({ ...decision, version: next })
      .where('partyId', '=', partyId)
      .where('version', '=', version),
  ({ partyId }) => `compliance case of ${partyId}`,
)
