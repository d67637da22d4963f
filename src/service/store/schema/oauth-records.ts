import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * Temporary records of the authorization server: sessions, codes, refresh tokens, device codes, registered clients.
 * They contain no usable credential: ids that work as credentials are hashed, both in the key and in the payload.
 */
export const oauthRecords = table({
  model: text,
  idHash: text,
  /** JSON. */
  payload: text,
  grantId: nullable(text),
  uid: nullable(text),
  userCodeHash: nullable(text),
  /** In real time, like all of OAuth; null if it does not expire by itself. */
  expiresAtMs: nullable(bigint),
  createdAtMs: bigint,
  $key: ['model', 'idHash'],
  $indexes: ['grantId', 'model uid', 'model userCodeHash', 'expiresAtMs'],
  // For listing the records that do not expire by themselves.
  $namedIndexes: { unending: '("model", "createdAtMs") where "expiresAtMs" is null' },
})

export type OAuthRecordRow = RowOf<typeof oauthRecords>
