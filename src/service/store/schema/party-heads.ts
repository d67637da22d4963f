import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * The ends of a party's activity chain and of its events. A transaction writes this row with its last statements and
 * holds its lock until the commit.
 */
export const partyHeads = table({
  partyId: text,
  /** The number of the last activity row, which is also the number of rows. */
  activitySequence: bigint,
  /** The hash of the last activity row; null if there is none. */
  hash: nullable(text),
  /** A root key's signature on the end of the chain. It reveals whether rows at the end were deleted. */
  seal: nullable(text),
  /** The number of the last event, even if that event has been deleted since then. */
  eventSequence: bigint,
  $key: ['partyId'],
  $keyOnly: true,
})

export type PartyHeadRow = RowOf<typeof partyHeads>

/** The end of a party's activity chain. */
export interface ActivityHead {
  partyId: string
  sequence: number
  hash: string
}

/** Returns the text that is signed to seal the end of a chain. */
export function sealedText({ partyId, sequence, hash }: ActivityHead): string {
  return `activity ${partyId} ${sequence} ${hash}`
}
