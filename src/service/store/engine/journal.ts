import type { Posting } from '../../rules/ledger.ts'

/** A posting with the time at which it takes effect and the record that causes it. */
export interface DatedPosting {
  posting: Posting
  nowMs: number
  sourceId: string | null
}

/** A posting as it is reported to listeners after the commit. */
export interface Posted extends DatedPosting {
  /** The party whose wallet the posting changes; the first such party if there are several. */
  partyId: string
  /** Whether a due effect caused it, rather than the request itself. */
  byDueEffect: boolean
}

/** The state of one transaction. Its events and postings are announced after the commit. */
export class Journal {
  /** The parties with an event in this transaction. */
  readonly parties = new Set<string>()
  /** Complete when the transaction's work is done. Rolling back a savepoint removes the postings made since then. */
  readonly postings: Posted[] = []
  /** Whether due effects are being applied now. Postings made meanwhile are attributed to these effects. */
  byDueEffect = false
  /**
   * The version of the root keys. It is known from the first reading of the time until the transaction changes a key.
   */
  keysVersion: Promise<number | undefined> | undefined
}
