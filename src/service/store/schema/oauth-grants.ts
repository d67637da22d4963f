import { bigint, nullable, type RowOf, table, text } from './table.ts'

/** What a user allowed an application, acting as an agent or as the user (docs/service.md#oauth-scopes). */
export const oauthGrants = table({
  id: text,
  userId: text,
  partyId: text,
  /** Null: it acts as the user. */
  agentId: nullable(text),
  clientId: text,
  clientName: text,
  /** Names separated by spaces. */
  scopes: text,
  /** JSON, as the authorization server keeps it. */
  payload: text,
  /** The instants below are of the service's clock, but for the end, which is of real time. */
  createdAtMs: bigint,
  lastUsedAtMs: nullable(bigint),
  revokedAtMs: nullable(bigint),
  expiresAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['clientId', 'id'],
  $namedIndexes: {
    living: '("userId", "id") where "revokedAtMs" is null',
    living_of_client: '("userId", "clientId", "id") where "revokedAtMs" is null',
  },
})

export type OAuthGrantRow = RowOf<typeof oauthGrants>
