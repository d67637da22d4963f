import { bigint, type RowOf, table, text } from './table.ts'

export const passwords = table({
  userId: text,
  /** `scrypt$N$r$p$salt$hash`, or `made$salt$hash` for a password that the service generated. */
  hash: text,
  $key: ['userId'],
})

export type PasswordRow = RowOf<typeof passwords>

/** A sign-in attempt with a wrong password. `refusedAtMs` is on the real clock. */
export const refusedPasswords = table({
  id: text,
  /** A hash of the email address that was entered, whether or not an account with this address exists. */
  account: text,
  /**
   * The origin of the attempt: a network address, or a browser in which the owner of the account had signed in before.
   */
  source: text,
  refusedAtMs: bigint,
  $indexes: ['account refusedAtMs', 'refusedAtMs'],
})
