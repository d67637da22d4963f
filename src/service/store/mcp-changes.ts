import type { Store } from './engine/store.ts'

/** Something that was done with a credential, as the activity has it. */
export interface Change {
  principalId: string
  resourceIds: readonly string[]
  instanceId: string | null
  customerPartyId: string | null
}

/** At one time: what would not fit into a query, and what a process should not read in one piece. */
const mostParties = 500
const mostRows = 500

/** What the parties' activity tells of changes, whichever process made them. */
export function createMcpChanges(store: Store) {
  return {
    /** The number of the last change of each party; a party that never changed anything has none. */
    ends: async (partyIds: readonly string[]): Promise<Map<string, number>> => {
      const ends = new Map<string, number>()
      for (let first = 0; first < partyIds.length; first += mostParties) {
        const some = partyIds.slice(first, first + mostParties)
        const rows = await store.read(({ db }) =>
          db.selectFrom('activityHeads').select(['partyId', 'sequence']).where('partyId', 'in', some).execute(),
        )
        for (const { partyId, sequence } of rows) ends.set(partyId, sequence)
      }
      return ends
    },
    /** The party's changes behind that number, in their order, and the number of the last of them. */
    after: async (partyId: string, sequence: number, upTo: number): Promise<{ changes: Change[]; last: number }> => {
      const rows = await store.read(({ db }) =>
        db
          .selectFrom('activity')
          .select(['sequence', 'keyId', 'resourceIds', 'instanceId', 'customerPartyId'])
          .where('partyId', '=', partyId)
          .where('sequence', '>', sequence)
          .where('sequence', '<=', upTo)
          .orderBy('sequence')
          .limit(mostRows)
          .execute(),
      )
      const changes = rows.map(({ keyId, resourceIds, instanceId, customerPartyId }) => ({
        ...{ principalId: keyId, instanceId, customerPartyId },
        resourceIds: JSON.parse(resourceIds) as string[],
      }))
      return { changes, last: rows.length < mostRows ? upTo : (rows.at(-1)?.sequence ?? upTo) }
    },
  }
}
