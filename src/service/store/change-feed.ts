import type { Feed } from '../../core/change-watcher.ts'
import type { Store, Transaction } from './engine/store.ts'
import { type LastNumber, lastNumbers } from './party-heads.ts'

/** The maximum number of parties in one query, because databases limit the number of parameters. */
const maxParties = 500
/** The maximum number of rows in one read. */
const maxRows = 500

interface FeedRows<Row, Change> {
  /** The column of a party's head that contains the number of the party's last row. */
  head: LastNumber
  /** Returns up to `limit` rows of the party in order, with numbers above `sequence` and up to `upTo`. */
  rows(tx: Transaction, by: { partyId: string; sequence: number; upTo: number; limit: number }): Promise<Row[]>
  /** Returns the change that a row describes. */
  changeOf(row: Row): Change
}

/**
 * How many row numbers are reserved for each epoch, the time between two resets or restores of the sandbox. No party
 * has this many rows in one epoch, and the numbers of two million epochs fit into a safe integer.
 */
const numbersPerEpoch = 2 ** 32

/**
 * Makes a feed of changes from the parties' numbered rows, including the rows that other processes wrote. The result of
 * `lastSequences` omits parties without rows. A reset or restore of the sandbox begins a new epoch, in which row
 * numbers can be lower than before. The feed therefore numbers the rows of each epoch after those of the previous
 * epoch. A reader whose position is in an earlier epoch gets only the latest rows.
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
