import { table, text } from './table.ts'

/** Locks by name, used only on PostgreSQL. The transaction that holds a lock inserts the row and deletes it again. */
export const locks = table({
  name: text,
  $key: ['name'],
})
