import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/** A customer's grant of permissions to an agent. */
export const delegations = table({
  id: text,
  customerPartyId: text,
  agentPartyId: text,
  agentId: text,
  /** JSON array. */
  permissions: text,
  /** The customer's spending limits, as a JSON object; null if there are none. */
  limits: nullable(text),
  status: text as Column<'ACTIVE' | 'REVOKED' | 'EXPIRED' | 'SUSPENDED'>,
  createdAtMs: bigint,
  revokedAtMs: nullable(bigint),
  $tenant: 'customerPartyId',
  $indexes: ['agentPartyId status customerPartyId', 'agentId status customerPartyId', 'agentId id'],
  $uniqueIndexes: ['agentId customerPartyId'],
})

export type DelegationRow = RowOf<typeof delegations>
