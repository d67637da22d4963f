import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A key that secrets are derived from. A retired key's row stays, without the key, so that its id is not reused. */
export const rootKeys = table({
  secret: text,
  /** Counts from 1. */
  id: integer,
  /** Real time. */
  createdAtMs: bigint,
  /**
   * The sealed lasting secrets of a retired key (`lastingTexts`), prefixed with the id of the key that sealed them.
   * Null while the key is in use.
   */
  lasting: nullable(text),
})

export type RootKeyRow = RowOf<typeof rootKeys>
