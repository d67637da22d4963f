import { bigint, type RowOf, table, text } from './table.ts'

/** A short-lived token issued in exchange for an API key. */
export const accessTokens = table({
  id: text,
  /** The id of the API key. */
  credentialId: text,
  secretHash: text,
  /** On the real clock, so that the token does not expire when the sandbox clock is moved. */
  expiresAtMs: bigint,
  /** The party that owns the API key. */
  partyId: text,
  $indexes: ['expiresAtMs'],
  $uniqueIndexes: ['secretHash'],
})

/** A short-lived token for requests under one grant, issued in exchange for the grant's access token. */
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
