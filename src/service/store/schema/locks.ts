import { table, text } from './table.ts'

/** Claims of names, each of which is there only inside of the transaction that has it; PostgreSQL alone needs them. */
export const locks = table({
  name: text,
  $key: ['name'],
})
