import { newId, type System } from '../../core/system.ts'
import { assertBalanced, type Posting } from '../rules/ledger.ts'
import { insertingSeveral } from './engine/insert.ts'
import type { Transaction } from './engine/store.ts'
import type { WalletRow } from './schema/wallets.ts'
import { moveBalances } from './wallets.ts'

/** A posting, when it takes effect, and the record that causes it. */
export interface DatedPosting {
  posting: Posting
  nowMs: number
  sourceId: string | null
}

/**
 * Enters a posting and moves the wallet's balances with it.
 * @throws StaleWriteError when the wallet changed since it was read.
 */
export async function post(
  tx: Transaction,
  system: System,
  wallet: WalletRow,
  posting: Posting,
  at: Omit<DatedPosting, 'posting'>,
): Promise<void> {
  await postAll(tx, system, wallet, [{ ...at, posting }])
}

/** Enters postings on one wallet, whose balances move once. */
export async function postAll(
  tx: Transaction,
  system: System,
  wallet: WalletRow,
  postings: readonly DatedPosting[],
): Promise<void> {
  await postBetween(tx, system, [wallet], postings)
}

/**
 * Enters postings on several wallets. Their rows change in the order of their ids, so that two that pay each other wait
 * for one another instead of each holding what the other needs.
 */
export async function postBetween(
  tx: Transaction,
  system: System,
  wallets: readonly WalletRow[],
  postings: readonly DatedPosting[],
): Promise<void> {
  const [first] = wallets
  if (first === undefined) throw new Error('Bug: a posting is about no wallet.')
  for (const { posting } of postings) assertBalanced(posting)
  if (wallets.some(({ partyId }) => partyId !== wallets[0]?.partyId)) tx.apart()
  const ordered = [...wallets].sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const wallet of ordered) {
    await moveBalances(
      tx,
      wallet,
      postings.map(({ posting }) => posting),
    )
  }
  const entries = postings.flatMap(({ posting, nowMs, sourceId }) => {
    const postingId = newId('pst', system, nowMs)
    return posting.entries.map(({ account, walletId, amountCents }, index) => {
      const { partyId } = wallets.find(({ id }) => id === walletId) ?? first
      const entry = { id: `${postingId}_${index}`, postingId, partyId, account, walletId, amountCents }
      return { ...entry, reason: posting.reason, sourceId, createdAtMs: nowMs }
    })
  })
  await insertEntries(tx, entries)
  const { partyId } = first
  const byItself = settling.has(tx)
  tx.atEnd(
    handOver,
    postings.map((posting) => ({ ...posting, partyId, byItself })),
  )
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

const insertEntries = insertingSeveral('ledgerEntries')
