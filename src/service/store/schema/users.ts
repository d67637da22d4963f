import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

export const users = table({
  id: text,
  partyId: text,
  role: text as Column<'OWNER' | 'ADMIN' | 'MEMBER'>,
  name: text,
  email: text,
  createdAtMs: bigint,
  /** When the user last verified a second factor, on the sandbox clock. */
  mfaVerifiedAtMs: nullable(bigint),
  status: text as Column<'ACTIVE' | 'REVOKED' | 'DELETED'>,
  updatedAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['partyId id', 'email', 'id'],
})

export type UserRow = RowOf<typeof users>
