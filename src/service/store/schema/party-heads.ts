import { bigint, nullable, type RowOf, table, text } from './table.ts'

/**
 * The end of a party's activity chain, and the number of the party's last event. A transaction writes this row as late
 * as possible, because the row then stays locked until the transaction ends.
 */
export const partyHeads = table({
  partyId: text,
  /** The sequence number of the last activity row, which is also the length of the chain. */
  activitySequence: bigint,
  /** The hash of the last activity row; null if the party has no activity. */
  hash: nullable(text),
  /** A signature of the end of the chain, made with a root key. It reveals whether rows were deleted from the end. */
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
