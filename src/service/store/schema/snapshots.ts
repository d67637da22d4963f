import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A state of the sandbox's world that can be gone back to (docs/sandbox.md#reset-save-restore). */
export const snapshots = table({
  '0033_snapshots': {
    id: text,
    name: text,
    /** The last migration when it was saved: what later ones add is filled in when it is restored. */
    savedBy: text,
    /** What the service's clock showed; null: it begins as the world says. */
    clockMs: nullable(bigint),
    /** How many characters its rows take. */
    characters: bigint,
    /** Real time. */
    savedAtMs: bigint,
    $uniqueIndexes: ['name'],
  },
})

export type SnapshotRow = RowOf<typeof snapshots>

/** The rows of a snapshot: some hundred of one table as a JSON array of objects. */
export const snapshotRows = table({
  '0033_snapshots': {
    snapshotId: text,
    tableName: text,
    part: integer,
    rows: text,
    $key: ['snapshotId', 'tableName', 'part'],
  },
})
