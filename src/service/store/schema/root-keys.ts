import { bigint, integer, type RowOf, table, text } from './table.ts'

/** A key that secrets are derived from. It is never changed or forgotten: what it made is out there. */
export const rootKeys = table({
  '0012_root_keys': {
    secret: text,
    /** Counts from 1. */
    id: integer,
    /** Real time. */
    createdAtMs: bigint,
  },
})

export type RootKeyRow = RowOf<typeof rootKeys>
