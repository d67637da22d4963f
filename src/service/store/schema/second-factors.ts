import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * What was tried with a user's codes. Its instants are real time, as the codes are: an authenticator app knows nothing
 * of the sandbox's clock, and moving that clock must not give more tries.
 */
export const secondFactors = table({
  '0006_second_factors': {
    userId: text,
    /** JSON array: when codes were refused lately. */
    refusedAtMs: text,
    /** The time step (RFC 6238) of the last code that was accepted; null before the first. */
    lastStep: nullable(bigint),
    $key: ['userId'],
  },
  '0018_enrolments': {
    /** What the secret of the user's app is derived with, `<root key>.<nonce>`; null: the user has not enrolled. */
    seed: nullable(text),
    /** As above, of an enrolment whose first code is awaited. */
    pendingSeed: nullable(text),
  },
})

export type SecondFactorRow = RowOf<typeof secondFactors>
