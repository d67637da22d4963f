import type { Environment } from '../../../core/operation.ts'
import { type Column, integer, table, text } from './table.ts'

/**
 * One row since the first start: the environment that the database belongs to. A start in the other environment is
 * refused.
 */
export const deployment = table({
  id: integer as Column<1>,
  environment: text as Column<Environment>,
  $checks: { one_row: '"id" = 1' },
})
