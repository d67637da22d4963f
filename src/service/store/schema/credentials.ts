import { bigint, type Column, flag, nullable, type RowOf, table, text } from './table.ts'

export const credentials = table({
  id: text,
  kind: text as Column<'api_key' | 'agent_key' | 'user_token'>,
  partyId: text,
  /** The agent that an agent key belongs to; null for other credentials. */
  agentId: nullable(text),
  name: nullable(text),
  /** SHA-256 of the whole credential, in hexadecimal. The secret itself is not stored. */
  secretHash: text,
  /** The first characters of the credential, so that people can recognize it. */
  displayPrefix: text,
  /** JSON array of scopes; null for agent keys and user tokens, which have no scopes. */
  scopes: nullable(text),
  /** Whether the service may set the secret at startup. Only credentials that the world created can have this flag. */
  seeded: flag,
  revokedAtMs: nullable(bigint),
  /** For a rotated key, the end of the grace period during which it still works. */
  expiresAtMs: nullable(bigint),
  createdAtMs: bigint,
  /** The user that a user token belongs to; null for keys. */
  userId: nullable(text),
  /** JSON object of strings. */
  tags: text,
  createdBy: nullable(text),
  revokedBy: nullable(text),
  /** This time may be up to a minute older than the actual last use. */
  lastUsedAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['agentId id', 'id'],
  $uniqueIndexes: ['secretHash'],
  $namedIndexes: {
    living: '("partyId", "kind", "id") where "revokedAtMs" is null',
    revoked: '("partyId", "kind", "id") where "revokedAtMs" is not null',
    seeded: '("id") where "seeded" = 1',
  },
})

export type CredentialRow = RowOf<typeof credentials>
