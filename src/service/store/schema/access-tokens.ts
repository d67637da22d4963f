import { bigint, type RowOf, table, text } from './table.ts'

/** A short-lived token issued in exchange for a key. */
export const accessTokens = table({
  id: text,
  /** The id of the key. */
  credentialId: text,
  secretHash: text,
  /** The expiry on the real clock, so that moving the sandbox clock does not make the token expire. */
  expiresAtMs: bigint,
  /** The party that owns the key. */
  partyId: text,
  $indexes: ['expiresAtMs'],
  $uniqueIndexes: ['secretHash'],
})

/** A short-lived token for requests under one grant, issued in exchange for an access token. */
export const grantTokens = table({
  id: text,
  grantId: text,
  scopes: text,
  secretHash: text,
  expiresAtMs: bigint,
  $indexes: ['expiresAtMs'],
  $uniqueIndexes: ['secretHash'],
})

export type GrantTokenRow = RowOf<typeof grantTokens>
