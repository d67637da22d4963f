import { bigint, type RowOf, table, text } from './table.ts'

/** A task that only one process at a time may perform: the process `holder`, until `untilMs` on the real clock. */
export const leases = table({
  name: text,
  holder: text,
  untilMs: bigint,
  $key: ['name'],
  $keyOnly: true,
})

export type LeaseRow = RowOf<typeof leases>
