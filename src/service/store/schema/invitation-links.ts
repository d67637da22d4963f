import type { LinkStatus } from '../../rules/invitation-links.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A developer's invitation link. Anyone who has the link can connect to the developer's agents. */
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
  /** SHA-256 of the token in the link's URL, in hexadecimal. The token itself is not stored. */
  tokenHash: text,
  /** The first and last characters of the token, so that people can recognize the link. */
  maskedToken: text,
  version: integer,
  /** Null if the link does not expire. */
  expiresAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId status id'],
  $uniqueIndexes: ['tokenHash'],
})

export type InvitationLinkRow = RowOf<typeof invitationLinks>
