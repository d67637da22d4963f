import { bigint, type Column, filled, nullable, type RowOf, table, text } from './table.ts'

export const users = table({
  '0001_first_schema': {
    id: text,
    partyId: text,
    role: text as Column<'OWNER' | 'ADMIN' | 'MEMBER'>,
    name: text,
    email: text,
    createdAtMs: bigint,
  },
  '0003_payments': {
    /** When the user last proved a second factor, by the service's clock. */
    mfaVerifiedAtMs: nullable(bigint),
  },
  '0020_lists': {
    $indexes: ['email'],
  },
  '0024_tenants': {
    $tenantKey: ['partyId', 'id'],
    $postgresIndexes: ['id'],
  },
  '0035_whole_api': {
    status: filled(text as Column<'ACTIVE' | 'REVOKED' | 'DELETED'>, 'ACTIVE'),
    updatedAtMs: nullable(bigint),
    $indexes: ['partyId id'],
  },
})

export type UserRow = RowOf<typeof users>
