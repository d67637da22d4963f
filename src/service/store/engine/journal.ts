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
  /** Whether a due effect caused the posting, rather than the request itself. */
  byDueEffect: boolean
}

/** Facts that one transaction collects while it runs. Its events and postings are announced after the commit. */
export class Journal {
  /** The parties for which this transaction has recorded events. */
  readonly parties = new Set<string>()
  /** The transaction's postings, added at its end. Rolling back to a savepoint drops the postings made since then. */
  readonly postings: Posted[] = []
  /** Whether the transaction is applying due effects now. Postings made meanwhile are attributed to these effects. */
  byDueEffect = false
  /**
   * The version of the root keys, which the transaction's first query for the time also reads. Undefined before that
   * query, and after the transaction changes a key.
   */
  keysVersion: Promise<number | undefined> | undefined
}
