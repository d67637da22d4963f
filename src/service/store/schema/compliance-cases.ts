import { bigint, type Column, integer, type RowOf, table, text } from './table.ts'

/** The identity review of a party. Until the review has started, the party has no row. */
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
