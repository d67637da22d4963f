import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A key from which secrets are derived. When a key is retired, its row stays, so that its id is not reused. */
export const rootKeys = table({
  /** The key itself; empty if the key is retired. */
  secret: text,
  /** The number of the key. The first key has 1. */
  id: integer,
  /** On the real clock. */
  createdAtMs: bigint,
  /**
   * The secrets of a retired key that the service still needs (`lastingTexts`). They are encrypted with a different
   * root key and prefixed with the id of that key. Null until the key is retired.
   */
  lasting: nullable(text),
})

export type RootKeyRow = RowOf<typeof rootKeys>
