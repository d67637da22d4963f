import { bigint, nullable, type RowOf, table, text } from './table.ts'

/** A user's grant that lets an application act as an agent or as the user (docs/service.md#oauth-scopes). */
export const oauthGrants = table({
  id: text,
  userId: text,
  partyId: text,
  /** Null if the application acts as the user. */
  agentId: nullable(text),
  clientId: text,
  clientName: text,
  /** Scope names, separated by spaces. */
  scopes: text,
  /** The authorization server's own record of the grant, as JSON. */
  payload: text,
  /** `expiresAtMs` is on the real clock. The other three times are on the sandbox clock. */
  createdAtMs: bigint,
  lastUsedAtMs: nullable(bigint),
  revokedAtMs: nullable(bigint),
  expiresAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['clientId', 'id'],
  $namedIndexes: {
    living: '("userId", "id") where "revokedAtMs" is null',
    applications: '("partyId", "id") where "userId" = "clientId"',
    living_of_client: '("userId", "clientId", "id") where "revokedAtMs" is null',
  },
})

export type OAuthGrantRow = RowOf<typeof oauthGrants>
