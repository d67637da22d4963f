import { faultEntry } from './activity.ts'
import { changeFeed } from './change-feed.ts'
import type { Store } from './engine/store.ts'

/**
 * Creates a feed of changes to resources, including the changes that other processes recorded. `principalId` is the
 * id of the credential that caused the change.
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
        // An injected fault changes no resource, so its activity row is left out.
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
