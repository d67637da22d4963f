import { bigint, type Column, integer, type RowOf, table, text } from './table.ts'

/** Whether the service knows enough of a party: a row where anybody asked. */
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
