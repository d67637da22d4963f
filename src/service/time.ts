import type { System } from '../system.ts'
import { release } from './domain/card-purchases.ts'
import { released } from './domain/ledger.ts'
import { billUntil } from './domain/subscriptions.ts'
import { replayWindowMs } from './idempotency.ts'
import { lapsedAuthorizations, replaceCardTransaction } from './store/card-transactions.ts'
import { type ClockReading, readClock } from './store/clock.ts'
import { changeInvitation, expiredInvitations } from './store/customer-invitations.ts'
import { purgeIdempotencyRecords } from './store/idempotency-records.ts'
import type { Transaction } from './store/store.ts'
import { dueSubscriptions, saveBillings } from './store/subscriptions.ts'
import { findWallet, post } from './store/wallets.ts'

/** How long a card network lets an authorization wait for its capture. */
export const holdLifetimeMs = 7 * 24 * 60 * 60 * 1000

const batch = 100
/** What one request settles at the most; the next request goes on. */
const mostBatches = 1000

/**
 * The service's time, after everything that was due by then has happened: so each request, whatever moved the clock
 * before it, sees the state of its own moment.
 */
export async function settledNow(tx: Transaction, system: System): Promise<number> {
  const reading = await readClock(tx)
  const nowMs = system.now() + reading.offsetMs
  if (isDue(reading, nowMs)) await settle(tx, system, nowMs)
  return nowMs
}

/** Lets happen what is due by `nowMs`: holds lapse, subscriptions are billed, invitations expire, replay windows close. */
export async function settle(tx: Transaction, system: System, nowMs: number): Promise<void> {
  for (let count = 0; count < mostBatches; count++) {
    const lapsed = await lapsedAuthorizations(tx, nowMs, batch)
    for (const purchase of lapsed) await lapse(tx, system, purchase)
    if (lapsed.length < batch) break
  }
  for (let count = 0; count < mostBatches; count++) {
    const due = await dueSubscriptions(tx, nowMs, batch)
    const changes = due.map((before) => ({ before, billed: billUntil(before.terms, before.billing, nowMs) }))
    await saveBillings(tx, system, changes)
    if (due.length < batch) break
  }
  for (let count = 0; count < mostBatches; count++) {
    const expired = await expiredInvitations(tx, nowMs, batch)
    for (const invitation of expired) {
      await changeInvitation(tx, invitation, 'expire', invitation.pendingUntilMs ?? nowMs)
    }
    if (expired.length < batch) break
  }
  for (let count = 0; count < mostBatches; count++) {
    if ((await purgeIdempotencyRecords(tx, nowMs - replayWindowMs, batch)) < batch) break
  }
}

function isDue({ oldestFinishedAtMs, ...next }: ClockReading, nowMs: number) {
  const { nextHoldExpiresAtMs, nextSubscriptionEventAtMs, nextInvitationExpiresAtMs } = next
  for (const atMs of [nextHoldExpiresAtMs, nextSubscriptionEventAtMs, nextInvitationExpiresAtMs]) {
    if (atMs !== null && atMs <= nowMs) return true
  }
  return oldestFinishedAtMs !== null && oldestFinishedAtMs + replayWindowMs <= nowMs
}

/** The hold ends at the moment it was to end, however late that is noticed. */
async function lapse(
  tx: Transaction,
  system: System,
  purchase: Awaited<ReturnType<typeof lapsedAuthorizations>>[number],
): Promise<void> {
  const wallet = await findWallet(tx, purchase.partyId, purchase.walletId)
  if (wallet === undefined || purchase.holdExpiresAtMs === null) throw new Error(`Bug: ${purchase.id} holds nothing.`)
  const nowMs = purchase.holdExpiresAtMs
  await replaceCardTransaction(tx, purchase, { ...release(purchase, 'expire'), updatedAtMs: nowMs })
  await post(tx, system, wallet, released(wallet.id, purchase.heldCents), { nowMs, sourceId: purchase.id })
}
