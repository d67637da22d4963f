import type { System } from '../../core/system.ts'
import { release } from '../rules/card-purchases.ts'
import { released } from '../rules/ledger.ts'
import { billUntil } from '../rules/subscriptions.ts'
import { lapsedAuthorizations, replaceCardTransaction } from '../store/card-transactions.ts'
import { type ClockReading, readClock } from '../store/clock.ts'
import { changeInvitation, expiredInvitations } from '../store/customer-invitations.ts'
import type { Transaction } from '../store/engine/store.ts'
import { dueSubscriptions, saveBillings } from '../store/subscriptions.ts'
import { findWallet, post } from '../store/wallets.ts'

/** How long a card network lets an authorization wait for its capture. */
export const holdLifetimeMs = 7 * 24 * 60 * 60 * 1000

const batch = 100
/** What one request settles at the most; the next request goes on. */
const mostBatches = 1000

/** The time of a request. Whatever is stored is judged by these, never by the clock of the machine that happens to ask. */
export interface Times {
  /** The service's time, which the sandbox moves: what the API's records live by. */
  nowMs: number
  /** Real time, which no sandbox moves: what tokens, sessions, grants and codes live by. */
  realNowMs: number
  /**
   * The service's time by whichever clock at hand is furthest behind. An answer is forgotten by it: that one clock runs
   * ahead for a while lets no request be carried out twice.
   */
  earliestMs: number
}

/**
 * The time, after everything that was due by then has happened: so each request, whatever moved the clock before it,
 * sees the state of its own moment.
 */
export async function settledTimes(tx: Transaction, system: System): Promise<Times> {
  const reading = await readClock(tx)
  const times = timesOf(tx, reading)
  if (isDue(reading, times.nowMs)) await settle(tx, system, times.nowMs)
  return times
}

/** The service's time, after everything that was due by then has happened. */
export async function settledNow(tx: Transaction, system: System): Promise<number> {
  return (await settledTimes(tx, system)).nowMs
}

/** The time, for what does not look at records that change by themselves. */
export async function readTimes(tx: Transaction): Promise<Times> {
  return timesOf(tx, await readClock(tx))
}

/** Real time: the database's where it has one, and never earlier than anybody saw. */
export async function realNow(tx: Transaction): Promise<number> {
  return (await readTimes(tx)).realNowMs
}

function timesOf(tx: Transaction, { offsetMs, lastFinishedAtMs, ...reading }: ClockReading): Times {
  // What was recorded at some time was recorded by somebody who had seen that time.
  const highestMs = Math.max(reading.highestMs, (lastFinishedAtMs ?? 0) - offsetMs)
  const { realNowMs, earliestMs } = tx.clock.read({ ...reading, highestMs })
  return { nowMs: realNowMs + offsetMs, realNowMs, earliestMs: earliestMs + offsetMs }
}

/** Lets happen what is due by `nowMs`: holds lapse, subscriptions are billed, invitations expire. */
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
}

function isDue(next: ClockReading, nowMs: number): boolean {
  const { nextHoldExpiresAtMs, nextSubscriptionEventAtMs, nextInvitationExpiresAtMs } = next
  return [nextHoldExpiresAtMs, nextSubscriptionEventAtMs, nextInvitationExpiresAtMs].some(
    (atMs) => atMs !== null && atMs <= nowMs,
  )
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
