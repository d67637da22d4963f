import type { Feed } from '../../core/watch.ts'
import type { Store, Transaction } from './engine/store.ts'

/** At one time: what would not fit into a query, and what a process should not read in one piece. */
const mostParties = 500
const mostRows = 500

interface FeedRows<Row, Change> {
  /** The table of the last number of each party. */
  heads: 'activityHeads' | 'eventHeads'
  /** At most `limit` rows of the party's behind a number up to another, in their order. */
  rows(tx: Transaction, by: { partyId: string; sequence: number; upTo: number; limit: number }): Promise<Row[]>
  /** What a row tells. */
  changeOf(row: Row): Change
}

/** What the numbered rows of parties tell of changes, whichever process wrote them. A party without rows has no end. */
export function feedOf<Row extends { sequence: number }, Change>(
  store: Store,
  { heads, rows, changeOf }: FeedRows<Row, Change>,
): Pick<Feed<Change>, 'ends' | 'after'> {
  return {
    ends: async (partyIds) => {
      const ends = new Map<string, number>()
      for (let first = 0; first < partyIds.length; first += mostParties) {
        const some = partyIds.slice(first, first + mostParties)
        const found = await store.read(({ db }) =>
          db.selectFrom(heads).select(['partyId', 'sequence']).where('partyId', 'in', some).execute(),
        )
        for (const { partyId, sequence } of found) ends.set(partyId, sequence)
      }
      return ends
    },
    after: async (partyId, sequence, upTo) => {
      const found = await store.read((tx) => rows(tx, { partyId, sequence, upTo, limit: mostRows }))
      const last = found.length < mostRows ? upTo : (found.at(-1)?.sequence ?? upTo)
      return { changes: found.map(changeOf), last }
    },
  }
}
