import type { Feed, Follower, Following } from '../../core/watch.ts'
import { addressOf, watchable } from '../resources/kinds.ts'
import type { Principal } from './host-context.ts'

/** Something happened to a record of a party's, by whoever. */
export interface Happened {
  partyId: string
  resourceId: string
}

/** A change that was made with a credential. */
export interface Change {
  principalId: string
  resourceIds: readonly string[]
  instanceId: string | null
  customerPartyId: string | null
}

/** The sources of changes. */
export interface Changes {
  /** Tells what was done with which credential. */
  activity: Feed<Change>
  /** Tells what happened to records of parties, whoever did it. */
  follow(follower: Follower<Happened>): Following
  /** Whether the principal can read now what is at the address: whoever cannot hears nothing of it. */
  mayRead(principal: Principal, address: string): Promise<boolean>
}

/**
 * The addresses that the outbox of the own party does not tell of: the activity of the run, and a customer's resources
 * that a host can watch.
 */
export function addressesOf({ resourceIds, instanceId, customerPartyId }: Change): string[] {
  const addresses = customerPartyId === null ? [] : resourceIds.flatMap((id) => watchable(id, customerPartyId))
  return instanceId === null ? addresses : [...addresses, addressOf('activity', instanceId)]
}
