import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * What the authorization server keeps for a while: sessions, codes, refresh tokens, device codes, registered clients.
 * Nothing that a bearer could present is in it: such ids are hashed, in the key and in the payload.
 */
export const oauthRecords = table({
  model: text,
  idHash: text,
  /** JSON. */
  payload: text,
  grantId: nullable(text),
  uid: nullable(text),
  userCodeHash: nullable(text),
  /** On real time, as all of OAuth; null: it does not end by itself. */
  expiresAtMs: nullable(bigint),
  createdAtMs: bigint,
  $key: ['model', 'idHash'],
  $indexes: ['grantId', 'model uid', 'model userCodeHash', 'expiresAtMs'],
  // Lists the records that are kept until it is known that nobody needs them.
  $namedIndexes: { unending: '("model", "createdAtMs") where "expiresAtMs" is null' },
})

export type OAuthRecordRow = RowOf<typeof oauthRecords>
