import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * What was tried with a user's codes. Its instants are real time, as the codes are: an authenticator app knows nothing
 * of the sandbox's clock, and moving that clock must not give more tries.
 */
export const secondFactors = table({
  userId: text,
  /** JSON array: when codes were refused lately. */
  refusedAtMs: text,
  /** The time step (RFC 6238) of the last code that was accepted; null before the first. */
  lastStep: nullable(bigint),
  /** What the secret of the user's app is derived with, `<root key>.<nonce>`; null: the user has not enrolled. */
  seed: nullable(text),
  /** As above, of an enrolment whose first code is awaited. */
  pendingSeed: nullable(text),
  $key: ['userId'],
})

export type SecondFactorRow = RowOf<typeof secondFactors>
