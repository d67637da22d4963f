import type { System } from '../../core/system.ts'
import { release } from '../rules/card-purchases.ts'
import type { TimedKind } from '../rules/failed-effects.ts'
import { released } from '../rules/ledger.ts'
import { billUntil } from '../rules/subscriptions.ts'
import { applyBankEvents } from '../store/bank-transfers.ts'
import { holdLapses, lapsedAuthorizations, replaceCardTransaction } from '../store/card-transactions.ts'
import type { DueOf, Moments } from '../store/clock.ts'
import { changeInvitation, expiredInvitations, invitationExpiries } from '../store/customer-invitations.ts'
import { runAndSaveEarlierRows } from '../store/earlier-states.ts'
import type { Transaction } from '../store/engine/store.ts'
import type { DueColumn } from '../store/failed-effects.ts'
import { postAll } from '../store/ledger.ts'
import { changePaymentRequest, expiredRequests, requestExpiries } from '../store/payment-requests.ts'
import { bankMoments } from '../store/payments.ts'
import { shopMoments } from '../store/shop-orders.ts'
import { dueSubscriptions, saveBillings, subscriptionEvents } from '../store/subscriptions.ts'
import { findWallet } from '../store/wallets.ts'
import { applyShopEvents } from './shop-events.ts'

/** A kind of due effect. */
export interface TimedEffect {
  kind: TimedKind
  moments: Moments
  /** The column from which `moments` reads the due times. */
  dueColumn: DueColumn
  /** Applies at most `due.limit` due effects of a party, oldest first. Returns the number of effects applied. */
  apply(tx: Transaction, system: System, due: DueOf): Promise<number>
}

/** All kinds of timed effects, in the order in which they are applied if a party has due effects of several kinds. */
export const timedEffects: readonly TimedEffect[] = [
  // Shops come first: if a capture was due before the hold expired, and both times have passed, the capture must be
  // applied before the hold is released.
  {
    kind: 'shop',
    moments: shopMoments,
    dueColumn: { table: 'shopOrders', column: 'nextEventAtMs' },
    apply: applyShopEvents,
  },
  {
    kind: 'bank',
    moments: bankMoments,
    dueColumn: { table: 'payments', column: 'bankDueAtMs' },
    apply: applyBankEvents,
  },
  {
    kind: 'hold',
    moments: holdLapses,
    dueColumn: { table: 'cardTransactions', column: 'holdExpiresAtMs' },
    apply: lapseHolds,
  },
  {
    kind: 'subscription',
    moments: subscriptionEvents,
    dueColumn: { table: 'subscriptions', column: 'nextEventAtMs' },
    apply: billSubscriptions,
  },
  {
    kind: 'invitation',
    moments: invitationExpiries,
    dueColumn: { table: 'customerInvitations', column: 'pendingUntilMs' },
    apply: expireInvitations,
  },
  {
    kind: 'request',
    moments: requestExpiries,
    dueColumn: { table: 'paymentRequests', column: 'openUntilMs' },
    apply: expireRequests,
  },
]

export const dueColumns = Object.fromEntries(timedEffects.map(({ kind, dueColumn }) => [kind, dueColumn])) as Readonly<
  Record<TimedKind, DueColumn>
>

/**
 * Runs `work`, which applies a party's due effects. Marks the resulting postings as caused by due effects, and stores
 * the party's earlier state for reads that get the fault `stale`.
 */
export async function withDueEffects<Result>(
  tx: Transaction,
  partyId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  tx.journal.byDueEffect = true
  try {
    return await runAndSaveEarlierRows(tx, () => [partyId], work)
  } finally {
    tx.journal.byDueEffect = false
  }
}

/** Releases expired holds. Each release is dated to the expiry of the hold, even if it is applied later. */
async function lapseHolds(tx: Transaction, system: System, due: DueOf): Promise<number> {
  const lapsed = await lapsedAuthorizations(tx, due)
  for (const purchase of lapsed) {
    const updatedAtMs = expiryOf(purchase)
    await replaceCardTransaction(tx, purchase, { ...release(purchase, 'expire'), updatedAtMs })
  }
  for (const [walletId, purchases] of Map.groupBy(lapsed, (purchase) => purchase.walletId)) {
    const wallet = await findWallet(tx, due.partyId, walletId)
    if (wallet === undefined) throw new Error(`Bug: the wallet ${walletId} of a hold is gone.`)
    const postings = purchases.map((purchase) => {
      const posting = released(walletId, purchase.heldCents)
      return { posting, nowMs: expiryOf(purchase), sourceId: purchase.id }
    })
    await postAll(tx, system, wallet, postings)
  }
  return lapsed.length
}

function expiryOf({ id, holdExpiresAtMs }: { id: string; holdExpiresAtMs: number | null }): number {
  if (holdExpiresAtMs === null) throw new Error(`Bug: ${id} has no hold.`)
  return holdExpiresAtMs
}

async function billSubscriptions(tx: Transaction, system: System, due: DueOf): Promise<number> {
  const changes = []
  let count = 0
  for (const before of await dueSubscriptions(tx, due)) {
    if (count === due.limit) break
    const { events, ...billed } = billUntil(before.terms, before.billing, due.nowMs, due.limit - count)
    changes.push({ before, billed })
    count += events
  }
  await saveBillings(tx, system, changes)
  return count
}

async function expireInvitations(tx: Transaction, _system: System, due: DueOf): Promise<number> {
  const expired = await expiredInvitations(tx, due)
  for (const invitation of expired) {
    await changeInvitation(tx, invitation, 'expire', invitation.pendingUntilMs ?? due.nowMs)
  }
  return expired.length
}

async function expireRequests(tx: Transaction, _system: System, due: DueOf): Promise<number> {
  const expired = await expiredRequests(tx, due)
  for (const request of expired) {
    // If a request is reopened after its expiry time, because its payment was denied or canceled, the request expires
    // at the time of reopening.
    const atMs = Math.max(request.openUntilMs ?? due.nowMs, request.updatedAtMs)
    await changePaymentRequest(tx, request, 'expire', atMs)
  }
  return expired.length
}
