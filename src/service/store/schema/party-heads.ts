import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * The end of a party's activity chain and the end of its events. A transaction writes this row in its last statements,
 * and the row stays locked until the commit.
 */
export const partyHeads = table({
  partyId: text,
  /** The sequence number of the last activity row, which is also the length of the chain. */
  activitySequence: bigint,
  /** The hash of the last activity row; null if there is none. */
  hash: nullable(text),
  /** A root key's signature of the end of the chain. It reveals whether rows were deleted from the end. */
  seal: nullable(text),
  /** The sequence number of the last event, even if that event has since been deleted. */
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

/** Returns the string that a root key signs to seal the end of a chain. */
export function sealedText({ partyId, sequence, hash }: ActivityHead): string {
  return `activity ${partyId} ${sequence} ${hash}`
}
