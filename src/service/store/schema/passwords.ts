import { bigint, type RowOf, table, text } from './table.ts'

export const passwords = table({
  userId: text,
  /** `scrypt$N$r$p$salt$hash`; of a password that the service made, `made$salt$hash`. */
  hash: text,
  $key: ['userId'],
})

export type PasswordRow = RowOf<typeof passwords>

/** A wrong password that was tried. Its instant is real time. */
export const refusedPasswords = table({
  id: text,
  /** A hash of the email address that was entered, whether anybody has it or not. */
  account: text,
  /** Where it was tried: a client's address, or a browser that signed in before. */
  source: text,
  refusedAtMs: bigint,
  $indexes: ['account refusedAtMs', 'refusedAtMs'],
})
