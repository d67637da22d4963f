import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A saved state of the sandbox's world that can be restored (docs/sandbox.md#reset-save-restore). */
export const snapshots = table({
  id: text,
  name: text,
  /** The time on the service's clock; null for the start time that the world defines. */
  clockMs: nullable(bigint),
  /** The size of its rows in characters. */
  characters: bigint,
  /** Real time. */
  savedAtMs: bigint,
  $uniqueIndexes: ['name'],
})

export type SnapshotRow = RowOf<typeof snapshots>

/** The rows of a snapshot: each part is a JSON array of a few hundred rows of one table. */
export const snapshotRows = table({
  snapshotId: text,
  tableName: text,
  part: integer,
  rows: text,
  $key: ['snapshotId', 'tableName', 'part'],
})
