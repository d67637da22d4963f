import { bigint, type RowOf, table, text } from './table.ts'

/**
 * The lease of a task that only one process at a time may perform. Until `untilMs` on the real clock, only the process
 * `holder` may perform the task.
 */
export const leases = table({
  name: text,
  holder: text,
  untilMs: bigint,
  $key: ['name'],
  $keyOnly: true,
})

export type LeaseRow = RowOf<typeof leases>
