import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * The ends of a party's chain of activity and of its events. A transaction writes the row with its last statements and holds
 * its lock until the commit.
 */
export const partyHeads = table({
  partyId: text,
  /** The number of the last row of activity, which is also how many there are. */
  activitySequence: bigint,
  /** The hash of that row; null before the first. */
  hash: nullable(text),
  /** A root key's signature of the end of the chain: rows that are cut off it are missed. */
  seal: nullable(text),
  /** The number of the last event, deleted ones included. */
  eventSequence: bigint,
  $key: ['partyId'],
  $keyOnly: true,
})

export type PartyHeadRow = RowOf<typeof partyHeads>

/** The end of a party's chain of activity. */
export interface ActivityHead {
  partyId: string
  sequence: number
  hash: string
}

/** Returns the text that the seal of an end signs. */
export function sealedText({ partyId, sequence, hash }: ActivityHead): string {
  return `activity ${partyId} ${sequence} ${hash}`
}
