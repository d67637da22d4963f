import { bigint, type Column, integer, type RowOf, table, text } from './table.ts'

/** A check of whether the service knows enough about a party. Parties without a started check have no row. */
export const complianceCases = table({
  id: text,
  partyId: text,
  status: text as Column<'preparingSubmission' | 'submitted' | 'actionRequired' | 'approved' | 'rejected'>,
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $key: ['partyId'],
})

export type ComplianceCaseRow = RowOf<typeof complianceCases>
