import type { Feed } from '../../core/watch.ts'
import type { Store, Transaction } from './engine/store.ts'
import { type LastNumber, lastNumbers } from './party-heads.ts'

/** At one time: what would not fit into a query, and what a process should not read in one piece. */
const mostParties = 500
const mostRows = 500

interface FeedRows<Row, Change> {
  /** The column of a party's head that has the number of its last row. */
  head: LastNumber
  /** At most `limit` rows of the party's behind a number up to another, in their order. */
  rows(tx: Transaction, by: { partyId: string; sequence: number; upTo: number; limit: number }): Promise<Row[]>
  /** What a row tells. */
  changeOf(row: Row): Change
}

/** More than a party has rows in one world, and so few that there is room for two million worlds. */
const rowsOfWorld = 2 ** 32

/**
 * What the numbered rows of parties tell of changes, whichever process wrote them. A party without rows has no end. Where
 * the sandbox went back to another state of its world, the numbers of the rows did too: so those of each epoch follow
 * those of the one before, and what is told first of it are its latest rows.
 */
export function feedOf<Row extends { sequence: number }, Change>(
  store: Store,
  { head, rows, changeOf }: FeedRows<Row, Change>,
): Pick<Feed<Change>, 'ends' | 'after'> {
  return {
    ends: async (partyIds) => {
      const ends = new Map<string, number>()
      for (let first = 0; first < partyIds.length; first += mostParties) {
        const some = partyIds.slice(first, first + mostParties)
        const found = await store.read((tx) => lastNumbers(tx, some, head))
        for (const { partyId, sequence, epoch } of found) ends.set(partyId, (epoch ?? 0) * rowsOfWorld + sequence)
      }
      return ends
    },
    after: async (partyId, from, upTo) => {
      const [end, world] = [upTo % rowsOfWorld, Math.floor(upTo / rowsOfWorld)]
      const isSame = from === 0 || Math.floor(from / rowsOfWorld) === world
      const sequence = isSame ? from % rowsOfWorld : Math.max(0, end - mostRows)
      const found = await store.read((tx) => rows(tx, { partyId, sequence, upTo: end, limit: mostRows }))
      const last = found.length < mostRows ? upTo : world * rowsOfWorld + (found.at(-1)?.sequence ?? end)
      return { changes: found.map(changeOf), last }
    },
  }
}
