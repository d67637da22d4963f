import { bigint, type RowOf, table, text } from './table.ts'

/** A key that access tokens are signed with. Its instants are real time. */
export const signingKeys = table({
  kid: text,
  /** JSON Web Key, the private part included. */
  jwk: text,
  createdAtMs: bigint,
  $key: ['kid'],
})

export type SigningKeyRow = RowOf<typeof signingKeys>
