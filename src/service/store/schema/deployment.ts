import type { Environment } from '../../../core/operation.ts'
import { type Column, integer, table, text } from './table.ts'

/**
 * One row, written at the first start: the environment that the database belongs to. The service refuses to start in
 * production on a sandbox database, and in the sandbox on a production database.
 */
export const deployment = table({
  id: integer as Column<1>,
  environment: text as Column<Environment>,
  $checks: { one_row: '"id" = 1' },
})
