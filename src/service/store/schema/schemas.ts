import { type Column, integer, type RowOf, table, text } from './table.ts'

/** One row: the schema that the database was created with. */
export const schemas = table({
  id: integer as Column<1>,
  version: integer,
  /** The `schemaDigest` of the payments-mcp release that created the database. */
  digest: text,
  $checks: { one_row: '"id" = 1' },
})

export type SchemaRow = RowOf<typeof schemas>
