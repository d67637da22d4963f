import { bigint, nullable, type RowOf, table, text } from './table.ts'

/** Identity providers whose assertions a party accepts (docs/service.md#sign-in-through-an-identity-provider). */
export const trustedIssuers = table({
  id: text,
  partyId: text,
  /** The name of the application that presents the provider's assertions. */
  name: text,
  issuer: text,
  jwksUri: text,
  clientId: text,
  /** JSON array of `ClaimRule`. The first rule that matches the assertion's claims determines the agent. */
  agents: text,
  /** Scope names, separated by spaces. */
  scopes: text,
  createdAtMs: bigint,
  revokedAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['partyId id', 'clientId'],
})

export type TrustedIssuerRow = RowOf<typeof trustedIssuers>
