import type { LinkStatus } from '../../rules/invitation-links.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A developer's link. Anyone who has it can connect to the developer's agents. */
export const invitationLinks = table({
  id: text,
  /** The developer's party, which owns the agents. */
  partyId: text,
  name: text,
  /** JSON array of `ProposedAgent`. */
  proposedAgents: text,
  status: text as Column<LinkStatus>,
  /** JSON object of strings. */
  tags: text,
  /** SHA-256 of the token in its address, hexadecimal. The token itself is not stored. */
  tokenHash: text,
  /** The token's first and last characters, for people to recognize it. */
  maskedToken: text,
  version: integer,
  /** Null if it does not expire. */
  expiresAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId status id'],
  $uniqueIndexes: ['tokenHash'],
})

export type InvitationLinkRow = RowOf<typeof invitationLinks>
