import type { Posting } from '../../rules/ledger.ts'

/** A posting, when it takes effect, and the record that causes it. */
export interface DatedPosting {
  posting: Posting
  nowMs: number
  sourceId: string | null
}

/** A posting as listeners hear of it once it is committed. */
export interface Posted extends DatedPosting {
  /** The party whose wallet it moves; of several, the first. */
  partyId: string
  /** Whether a due effect made it, not the request itself. */
  byItself: boolean
}

/** What one transaction knows and leaves for others: its events and postings are told once it is committed. */
export class Journal {
  /** The parties that an event was written for. */
  readonly parties = new Set<string>()
  /** Complete when the transaction's work is done: a savepoint that is undone leaves none of its own. */
  readonly postings: Posted[] = []
  /** Whether due effects are being applied, to which the postings made meanwhile belong. */
  byItself = false
  /** The version of the root keys, from when the transaction asks for the time until it changes a key. */
  keysVersion: Promise<number | undefined> | undefined
}
