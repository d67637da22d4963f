import { bigint, nullable, type RowOf, table, text } from './table.ts'

/** A page that shows a card's number once. */
export const cardPages = table({
  /** SHA-256 of the token in the page's URL, in hexadecimal. The token itself is not stored. */
  tokenHash: text,
  cardId: text,
  /** The party that owns the card. */
  partyId: text,
  /** The party of the agent that the card was issued to. */
  agentPartyId: text,
  createdAtMs: bigint,
  expiresAtMs: bigint,
  /** Null until the page has shown the number. */
  shownAtMs: nullable(bigint),
  $key: ['tokenHash'],
  $indexes: ['expiresAtMs'],
})

export type CardPageRow = RowOf<typeof cardPages>
