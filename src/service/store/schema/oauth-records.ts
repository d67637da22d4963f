import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * Records of the authorization server, such as sessions, codes, refresh tokens, device codes and registered clients.
 * The records contain no usable credential: ids that work as credentials are hashed, both in `idHash` and in `payload`.
 */
export const oauthRecords = table({
  model: text,
  idHash: text,
  /** JSON. */
  payload: text,
  grantId: nullable(text),
  uid: nullable(text),
  userCodeHash: nullable(text),
  /** On the real clock, not the sandbox clock, like all expiry times in OAuth; null if the record does not expire. */
  expiresAtMs: nullable(bigint),
  createdAtMs: bigint,
  $key: ['model', 'idHash'],
  $indexes: ['grantId', 'model uid', 'model userCodeHash', 'expiresAtMs'],
  // This index lists the records that do not expire.
  $namedIndexes: { unending: '("model", "createdAtMs") where "expiresAtMs" is null' },
})

export type OAuthRecordRow = RowOf<typeof oauthRecords>
