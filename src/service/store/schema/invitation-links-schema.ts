import type { Kysely } from 'kysely'
import type { LinkStatus } from '../../rules/invitation-links.ts'
import { createTable } from './schema.ts'

/** A developer's address at which anybody who has it can connect its agents. */
export interface InvitationLinkRow {
  id: string
  /** The developer's: the party of the agents. */
  partyId: string
  name: string
  /** JSON array of `ProposedAgent`. */
  proposedAgents: string
  status: LinkStatus
  /** JSON object of texts. */
  tags: string
  /** SHA-256 of the token in its address, hexadecimal; the token itself is not stored. */
  tokenHash: string
  /** The token's first and last characters, for people to recognize it. */
  maskedToken: string
  version: number
  /** Null: it does not expire. */
  expiresAtMs: number | null
  createdAtMs: number
  updatedAtMs: number
}

export async function createInvitationLinksSchema(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'invitationLinks', {
    text: 'id partyId name proposedAgents status tags tokenHash maskedToken',
    integer: 'version',
    bigint: 'expiresAtMs? createdAtMs updatedAtMs',
    key: ['id'],
    indexes: [['partyId', 'id']],
    uniqueIndexes: [['tokenHash']],
  })
}
