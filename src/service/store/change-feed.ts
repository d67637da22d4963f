import type { Feed } from '../../core/change-watcher.ts'
import type { Store, Transaction } from './engine/store.ts'
import { type LastNumber, lastNumbers } from './party-heads.ts'

/** The maximum number of parties in one query. Databases limit the number of parameters. */
const maxParties = 500
/** The maximum number of rows in one read. */
const maxRows = 500

interface FeedRows<Row, Change> {
  /** The column of `partyHeads` that contains the number of a party's last row. */
  head: LastNumber
  /**
   * Returns the party's first rows with numbers above `sequence` and at most `upTo`, in order. Returns at most `limit`
   * rows.
   */
  rows(tx: Transaction, by: { partyId: string; sequence: number; upTo: number; limit: number }): Promise<Row[]>
  /** Returns the change that a row describes. */
  changeOf(row: Row): Change
}

/**
 * How many numbers the feed reserves for each epoch. An epoch lasts from one reset or restore of the sandbox to the
 * next. No party has this many rows in one epoch, and the numbers of two million epochs are all safe integers.
 */
const numbersPerEpoch = 2 ** 32

/**
 * Makes a feed of changes from the parties' numbered rows, including rows that other processes wrote. Parties without
 * rows are missing from the result of `lastSequences`. A reset or restore of the sandbox begins a new epoch, in which
 * row numbers can be lower than before. The feed therefore gives all rows of an epoch higher numbers than the rows of
 * the epochs before. A reader whose last number is from an earlier epoch gets only the latest rows of the current
 * epoch.
 */
export function changeFeed<Row extends { sequence: number }, Change>(
  store: Store,
  { head, rows, changeOf }: FeedRows<Row, Change>,
): Pick<Feed<Change>, 'lastSequences' | 'after'> {
  return {
    lastSequences: async (partyIds) => {
      const ends = new Map<string, number>()
      for (let first = 0; first < partyIds.length; first += maxParties) {
        const batch = partyIds.slice(first, first + maxParties)
        const found = await store.read((tx) => lastNumbers(tx, batch, head))
        for (const { partyId, sequence, epoch } of found) ends.set(partyId, (epoch ?? 0) * numbersPerEpoch + sequence)
      }
      return ends
    },
    after: async (partyId, from, upTo) => {
      const [end, epoch] = [upTo % numbersPerEpoch, Math.floor(upTo / numbersPerEpoch)]
      const isSame = from === 0 || Math.floor(from / numbersPerEpoch) === epoch
      const sequence = isSame ? from % numbersPerEpoch : Math.max(0, end - maxRows)
      const found = await store.read((tx) => rows(tx, { partyId, sequence, upTo: end, limit: maxRows }))
      const last = found.length < maxRows ? upTo : epoch * numbersPerEpoch + (found.at(-1)?.sequence ?? end)
      return { changes: found.map(changeOf), last }
    },
  }
}
