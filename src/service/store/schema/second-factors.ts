import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * A user's second factor and recent attempts. All times are on the real clock: authenticator apps do not know the
 * sandbox clock, and moving the sandbox clock must not allow more attempts.
 */
export const secondFactors = table({
  userId: text,
  /** JSON array of the times of recently refused codes. */
  refusedAtMs: text,
  /** The time step (RFC 6238) of the last accepted code; null if no code has been accepted yet. */
  lastStep: nullable(bigint),
  /** `<root key id>.<nonce>`, from which the secret in the user's app is derived; null if the user has not enrolled. */
  seed: nullable(text),
  /** The seed of an enrollment that the user has not yet confirmed with a first code; null if there is none. */
  pendingSeed: nullable(text),
  $key: ['userId'],
})

export type SecondFactorRow = RowOf<typeof secondFactors>
