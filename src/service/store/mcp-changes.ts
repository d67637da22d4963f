import { faultEntry } from './activity.ts'
import type { Store } from './engine/store.ts'
import { feedOf } from './feed.ts'

/** Reads from the activity what was done with which credential, whichever process did it. */
export function createMcpChanges(store: Store) {
  return feedOf(store, {
    head: 'activitySequence',
    rows: ({ db }, { partyId, sequence, upTo, limit }) =>
      db
        .selectFrom('activity')
        .select(['sequence', 'keyId', 'resourceIds', 'instanceId', 'customerPartyId'])
        .where('partyId', '=', partyId)
        .where('sequence', '>', sequence)
        .where('sequence', '<=', upTo)
        // A fault that befell a request is nobody's change, and hosts are not told of it.
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
