import { bigint, type Column, filled, flag, nullable, type RowOf, table, text } from './table.ts'

export const parties = table({
  '0001_first_schema': {
    id: text,
    partyType: text as Column<'PERSON' | 'ORG'>,
    displayName: text,
    email: nullable(text),
    issuedCardsEnabled: flag,
    createdAtMs: bigint,
  },
  '0003_payments': {
    /** E.164. */
    phone: nullable(text),
    /** JSON of `Limits`, on everything that leaves its wallets. */
    limits: nullable(text),
  },
  '0004_credentials': {
    /** Without the `@`. */
    handle: nullable(text),
    $uniqueIndexes: ['handle'],
  },
  '0005_invitations': {
    $indexes: ['phone'],
    $namedIndexes: { email: '(lower("email"))' },
  },
  '0035_whole_api': {
    status: filled(text as Column<'ACTIVE' | 'SUSPENDED' | 'PROVISIONAL' | 'INACTIVE'>, 'ACTIVE'),
    /** JSON object of what else is known of it: legalName, firstName, lastName, avatarUrl, persona and its address. */
    profile: filled(text, '{}'),
    createdBy: nullable(text),
    updatedAtMs: nullable(bigint),
    limitsUpdatedAtMs: nullable(bigint),
  },
})

export type PartyRow = RowOf<typeof parties>
