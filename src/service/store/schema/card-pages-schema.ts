import type { Kysely } from 'kysely'
import { createTable } from './schema.ts'

/** A page that shows a card's number once. */
export interface CardPageRow {
  /** SHA-256 of the token in its address, hexadecimal; the token itself is not stored. */
  tokenHash: string
  cardId: string
  /** The card's. */
  partyId: string
  /** The party of the agent that the card was issued to. */
  agentPartyId: string
  createdAtMs: number
  expiresAtMs: number
  /** Null: it has not shown the number yet. */
  shownAtMs: number | null
}

export async function createCardPagesSchema(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'cardPages', {
    text: 'tokenHash cardId partyId agentPartyId',
    bigint: 'createdAtMs expiresAtMs shownAtMs?',
    key: ['tokenHash'],
    indexes: [['expiresAtMs']],
  })
}
