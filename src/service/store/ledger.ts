import { newId, type System } from '../../core/system.ts'
import { assertBalanced, type Posting } from '../rules/ledger.ts'
import { insertingSeveral } from './engine/insert.ts'
import type { Transaction } from './engine/store.ts'
import { type DatedPosting, handOverAtEnd } from './posted.ts'
import type { WalletRow } from './schema/wallets.ts'
import { moveBalances } from './wallets.ts'

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
  handOverAtEnd(tx, first.partyId, postings)
}

const insertEntries = insertingSeveral('ledgerEntries')
