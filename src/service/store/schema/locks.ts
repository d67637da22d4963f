import { table, text } from './table.ts'

/** Claimed names. A row exists only inside the transaction that holds the claim. Only PostgreSQL needs these rows. */
export const locks = table({
  name: text,
  $key: ['name'],
})
