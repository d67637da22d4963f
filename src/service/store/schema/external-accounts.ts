import type { connectionStatuses, externalAccountStatuses } from '../../../../tools/external-accounts.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** Bank accounts that parties linked. Only the last four digits of an account number are stored. */
export const externalAccounts = table({
  id: text,
  partyId: text,
  status: text as Column<(typeof externalAccountStatuses)[number]>,
  connectionStatus: text as Column<(typeof connectionStatuses)[number]>,
  bankName: text,
  accountName: text,
  accountType: nullable(text as Column<'checking' | 'savings' | 'unknown'>),
  lastFour: text,
  /** The account's id at the test bank. If the party links the account again, this row is updated. */
  bankAccountId: text,
  agentId: nullable(text),
  instanceId: nullable(text),
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId status id', 'id'],
  $uniqueIndexes: ['partyId bankAccountId'],
})

export type ExternalAccountRow = RowOf<typeof externalAccounts>
