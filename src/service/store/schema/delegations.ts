import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/** A customer's grant to an agent. */
export const delegations = table({
  '0001_first_schema': {
    id: text,
    customerPartyId: text,
    agentPartyId: text,
    agentId: text,
    /** JSON array. */
    permissions: text,
    /** JSON object or null. */
    limits: nullable(text),
    status: text as Column<'ACTIVE' | 'REVOKED' | 'EXPIRED' | 'SUSPENDED'>,
    createdAtMs: bigint,
    revokedAtMs: nullable(bigint),
    $indexes: ['agentPartyId customerPartyId'],
    $uniqueIndexes: ['agentId customerPartyId'],
  },
  '0020_lists': {
    $indexes: ['agentPartyId status customerPartyId', 'agentId status customerPartyId', 'agentId id'],
    $droppedIndexes: ['agentPartyId customerPartyId'],
  },
  '0024_tenants': {
    $tenantKey: ['customerPartyId', 'id'],
  },
})

export type DelegationRow = RowOf<typeof delegations>
