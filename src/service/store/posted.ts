import type { Posting } from '../rules/ledger.ts'
import type { Transaction } from './engine/store.ts'

/** A posting, when it takes effect, and the record that causes it. */
export interface DatedPosting {
  posting: Posting
  nowMs: number
  sourceId: string | null
}

/** A posting as those hear of it who want to know what a transaction posted. */
export interface Posted extends DatedPosting {
  /** Whose wallet it moves; of several, the first. */
  partyId: string
  /** Nobody's request did it: it was due. */
  byItself: boolean
}

/** Where what a transaction posts is kept. One object may stand for one transaction after another. */
const kept = new WeakMap<Transaction, Posted[]>()

/** From now on it is kept what the transaction posts: gives what that is when its work is done. */
export function keepPostings(tx: Transaction): readonly Posted[] {
  const postings: Posted[] = []
  kept.set(tx, postings)
  return postings
}

/** What is kept of the transaction's postings, if anybody keeps them. */
export function keptPostings(tx: Transaction): readonly Posted[] {
  return kept.get(tx) ?? []
}

/** Hands postings over to whoever keeps them when the transaction's work is done: what a savepoint undoes is not. */
export function handOverAtEnd(tx: Transaction, partyId: string, postings: readonly DatedPosting[]): void {
  const byItself = settling.has(tx)
  tx.atEnd(
    handOver,
    postings.map((posting) => ({ ...posting, partyId, byItself })),
  )
}

async function handOver(tx: Transaction, posted: readonly (readonly Posted[])[]): Promise<void> {
  kept.get(tx)?.push(...posted.flat())
}

const settling = new WeakSet<Transaction>()

/** What the transaction posts meanwhile happens by itself. */
export async function postingByItself<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  settling.add(tx)
  try {
    return await work()
  } finally {
    settling.delete(tx)
  }
}
