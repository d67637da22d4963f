import { bigint, type RowOf, table, text } from './table.ts'

/** Which process does what only one of several is to do, and until when it does, in real time. */
export const leases = table({
  name: text,
  holder: text,
  untilMs: bigint,
  $key: ['name'],
  $keyOnly: true,
})

export type LeaseRow = RowOf<typeof leases>
