import { table, text } from './table.ts'

/**
 * Locks by name, used only on PostgreSQL. A transaction takes a lock by inserting a row with the lock's name and
 * deleting the row again. The transaction holds the lock until it ends.
 */
export const locks = table({
  name: text,
  $key: ['name'],
})
