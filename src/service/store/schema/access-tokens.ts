import { bigint, type RowOf, table, text } from './table.ts'

/** A short-lived token that a key was exchanged for. */
export const accessTokens = table({
  id: text,
  /** The key's. */
  credentialId: text,
  secretHash: text,
  /** On real time: how long a bearer token works is no part of what the sandbox's clock rehearses. */
  expiresAtMs: bigint,
  /** Whose key it is. */
  partyId: text,
  $indexes: ['expiresAtMs'],
  $uniqueIndexes: ['secretHash'],
})

/** A short-lived token that an access token was exchanged for. */
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
