import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A key that secrets are derived from. When it is retired its row stays, without the key, so that its id is not given again. */
export const rootKeys = table({
  secret: text,
  /** Counts from 1. */
  id: integer,
  /** Real time. */
  createdAtMs: bigint,
  /** What lasts of a retired key (`lastingTexts`), sealed; in front stands which key sealed it. Null: it is in use. */
  lasting: nullable(text),
})

export type RootKeyRow = RowOf<typeof rootKeys>
