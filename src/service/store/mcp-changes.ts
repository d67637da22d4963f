import { faultEntry } from './activity.ts'
import { changeFeed } from './change-feed.ts'
import type { Store } from './engine/store.ts'

/**
 * Makes a change feed from the activity that all processes recorded. Each change names the credential that caused it.
 */
export function createMcpChanges(store: Store) {
  return changeFeed(store, {
    head: 'activitySequence',
    rows: ({ db }, { partyId, sequence, upTo, limit }) =>
      db
        .selectFrom('activity')
        .select(['sequence', 'keyId', 'resourceIds', 'instanceId', 'customerPartyId'])
        .where('partyId', '=', partyId)
        .where('sequence', '>', sequence)
        .where('sequence', '<=', upTo)
        // An injected fault is not a change by a caller, so hosts are not notified of it.
        .where('operation', '!=', faultEntry)
        .orderBy('sequence')
        .limit(limit)
        .execute(),
    changeOf: ({ keyId, resourceIds, instanceId, customerPartyId }) => ({
      principalId: keyId,
      instanceId,
      customerPartyId,
      resourceIds: JSON.parse(resourceIds) as string[],
    }),
  })
}
