import { type Column, integer, type RowOf, table, text } from './table.ts'

/** One row: the schema that the database was made with. */
export const schemas = table({
  id: integer as Column<1>,
  version: integer,
  /** `schemaDigest` of the payments-mcp that made it. */
  digest: text,
  $checks: { one_row: '"id" = 1' },
})

export type SchemaRow = RowOf<typeof schemas>
