import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A state of the sandbox's world that can be gone back to (docs/sandbox.md#reset-save-restore). */
export const snapshots = table({
  id: text,
  name: text,
  /** What the service's clock showed; null: it begins as the world says. */
  clockMs: nullable(bigint),
  /** How many characters its rows take. */
  characters: bigint,
  /** Real time. */
  savedAtMs: bigint,
  $uniqueIndexes: ['name'],
})

export type SnapshotRow = RowOf<typeof snapshots>

/** The rows of a snapshot: some hundred of one table as a JSON array of objects. */
export const snapshotRows = table({
  snapshotId: text,
  tableName: text,
  part: integer,
  rows: text,
  $key: ['snapshotId', 'tableName', 'part'],
})
