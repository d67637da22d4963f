import { bigint, type Column, flag, nullable, type RowOf, table, text } from './table.ts'

export const parties = table({
  id: text,
  partyType: text as Column<'PERSON' | 'ORG'>,
  displayName: text,
  email: nullable(text),
  issuedCardsEnabled: flag,
  createdAtMs: bigint,
  /** A phone number in E.164 format. */
  phone: nullable(text),
  /** The `Limits` on all money that leaves the party's wallets, as JSON. */
  limits: nullable(text),
  /** Without the `@`. */
  handle: nullable(text),
  status: text as Column<'ACTIVE' | 'SUSPENDED' | 'PROVISIONAL' | 'INACTIVE'>,
  /** JSON object with optional fields: legalName, firstName, lastName, avatarUrl, persona and address. */
  profile: text,
  createdBy: nullable(text),
  updatedAtMs: nullable(bigint),
  limitsUpdatedAtMs: nullable(bigint),
  $indexes: ['phone'],
  $uniqueIndexes: ['handle'],
  $namedIndexes: { email: '(lower("email"))' },
})

export type PartyRow = RowOf<typeof parties>
