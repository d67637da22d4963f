import { bigint, type Column, integer, type RowOf, table, text } from './table.ts'

/** The identity review of a party. A party without a started review has no row. */
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
