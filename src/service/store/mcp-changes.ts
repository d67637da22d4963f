import { faultEntry } from './activity.ts'
import type { Store } from './engine/store.ts'
import { feedOf } from './feed.ts'

/** Something that was done with a credential, as the activity has it. */
export interface Change {
  principalId: string
  resourceIds: readonly string[]
  instanceId: string | null
  customerPartyId: string | null
}

/** What the parties' activity tells of changes, whichever process made them. */
export function createMcpChanges(store: Store) {
  return feedOf(store, {
    heads: 'activityHeads',
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
    changeOf: ({ keyId, resourceIds, instanceId, customerPartyId }): Change => ({
      principalId: keyId,
      instanceId,
      customerPartyId,
      resourceIds: JSON.parse(resourceIds) as string[],
    }),
  })
}
