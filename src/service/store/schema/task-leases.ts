import { bigint, type RowOf, table, text } from './table.ts'

/** A task that only one of several processes performs at a time. `untilMs` is in real time. */
export const leases = table({
  name: text,
  holder: text,
  untilMs: bigint,
  $key: ['name'],
  $keyOnly: true,
})

export type LeaseRow = RowOf<typeof leases>
