import type { Feed, Follower, Following } from '../../core/change-watcher.ts'
import { addressOf, watchable } from '../resources/kinds.ts'
import type { Principal } from './host-context.ts'

/** A change to a party's record, no matter who made it. */
export interface RecordChange {
  partyId: string
  resourceId: string
}

/** A change made with a credential. */
export interface Change {
  principalId: string
  resourceIds: readonly string[]
  instanceId: string | null
  customerPartyId: string | null
}

/** The sources of changes. */
export interface Changes {
  /** The changes made with each credential. */
  activity: Feed<Change>
  /** Follows the changes to parties' records, no matter who makes them. */
  follow(follower: Follower<RecordChange>): Following
  /**
   * Returns whether the principal can now read the resource at the address. Only principals that can read a changed
   * resource are notified.
   */
  mayRead(principal: Principal, address: string): Promise<boolean>
}

/**
 * Returns the addresses of the changed resources that are missing from the party's own outbox: the activity of the run
 * `instanceId`, and the watchable resources of the customer for whom the party acted.
 */
export function addressesOf({ resourceIds, instanceId, customerPartyId }: Change): string[] {
  const addresses = customerPartyId === null ? [] : resourceIds.flatMap((id) => watchable(id, customerPartyId))
  return instanceId === null ? addresses : [...addresses, addressOf('activity', instanceId)]
}
