import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A saved state of the sandbox's world that can be restored (docs/sandbox.md#reset-save-restore). */
export const snapshots = table({
  id: text,
  name: text,
  /**
   * The time that a restore sets on the sandbox clock. Null for the initial world, because its start time is in the
   * table `world`.
   */
  clockMs: nullable(bigint),
  /** The total number of characters in the snapshot's rows. */
  characters: bigint,
  /** On the real clock. */
  savedAtMs: bigint,
  $uniqueIndexes: ['name'],
})

export type SnapshotRow = RowOf<typeof snapshots>

/** The content of a snapshot, in parts. Each part is a JSON array of at most `maxRowsPerPart` rows from one table. */
export const snapshotRows = table({
  snapshotId: text,
  tableName: text,
  part: integer,
  rows: text,
  $key: ['snapshotId', 'tableName', 'part'],
})
