import { bigint, type RowOf, table, text } from './table.ts'

/** A key that signs access tokens. `createdAtMs` is on the real clock. */
export const signingKeys = table({
  kid: text,
  /** JSON Web Key, including the private part. */
  jwk: text,
  createdAtMs: bigint,
  $key: ['kid'],
})

export type SigningKeyRow = RowOf<typeof signingKeys>
