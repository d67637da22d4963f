import type { Posting } from '../../rules/ledger.ts'

/** A posting, the time at which it takes effect, and the id of the record that causes it. */
export interface DatedPosting {
  posting: Posting
  nowMs: number
  sourceId: string | null
}

/** A posting as it is reported to listeners after the commit. */
export interface Posted extends DatedPosting {
  /** The party of the wallet that the posting changes. If it changes several wallets, the party of the first one. */
  partyId: string
  /** Whether a due effect caused the posting, rather than the request itself. */
  byDueEffect: boolean
}

/**
 * Facts that are collected while a transaction runs. The transaction's events and postings are announced after the
 * commit.
 */
export class Journal {
  /** The parties for which this transaction has recorded events. */
  readonly parties = new Set<string>()
  /**
   * The transaction's postings. They are added only when the transaction ends, without those that a rollback to a
   * savepoint has undone.
   */
  readonly postings: Posted[] = []
  /**
   * Whether the transaction is applying due effects now. Postings that are made while this is true are attributed to
   * due effects.
   */
  byDueEffect = false
  /**
   * The version of the root keys, which is read together with the clock. Undefined before the transaction reads the
   * clock, and after the transaction has added or retired a key.
   */
  keysVersion: Promise<number | undefined> | undefined
}
