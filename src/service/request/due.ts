import type { System } from '../../core/system.ts'
import { release } from '../rules/card-purchases.ts'
import { released } from '../rules/ledger.ts'
import { billUntil } from '../rules/subscriptions.ts'
import { lapsedAuthorizations, nextLapse, replaceCardTransaction } from '../store/card-transactions.ts'
import { type NextAt, type Times, timesAndNext } from '../store/clock.ts'
import { changeInvitation, expiredInvitations, nextInvitationExpiry } from '../store/customer-invitations.ts'
import type { Transaction } from '../store/engine/store.ts'
import { post } from '../store/ledger.ts'
import { dueSubscriptions, nextSubscriptionEvent, saveBillings } from '../store/subscriptions.ts'
import { findWallet } from '../store/wallets.ts'

const batch = 100
/** What one request settles at the most; the next request goes on. */
const mostBatches = 1000

/** What a change has at hand: its transaction, and the service's time in it. */
export interface ChangeContext {
  tx: Transaction
  system: System
  nowMs: number
}

/** The same with every reading of the time, of which everything due by then has happened. */
export interface SettledContext extends ChangeContext, Times {}

/** Something that happens by itself when its time comes. */
interface TimedEffect {
  /** When the next one is due. */
  nextAt: NextAt
  /** Lets at most a batch of those happen that are due by `nowMs`, the longest due first; gives how many it were. */
  happen(tx: Transaction, system: System, nowMs: number): Promise<number>
}

/** Everything that happens by itself, in the order in which it happens where several are due at once. */
const timedEffects: readonly TimedEffect[] = [
  { nextAt: nextLapse, happen: lapseHolds },
  { nextAt: nextSubscriptionEvent, happen: billSubscriptions },
  { nextAt: nextInvitationExpiry, happen: expireInvitations },
]

const readTimesAndNext = timesAndNext(...timedEffects.map(({ nextAt }) => nextAt))

/**
 * The time, after everything that was due by then has happened: so each request, whatever moved the clock before it,
 * sees the state of its own moment.
 */
export async function settledTimes(tx: Transaction, system: System): Promise<Times> {
  const { times, nextAtMs } = await readTimesAndNext(tx)
  if (nextAtMs !== null && nextAtMs <= times.nowMs) await settle(tx, system, times.nowMs)
  return times
}

/** The service's time, after everything that was due by then has happened. */
export async function settledNow(tx: Transaction, system: System): Promise<number> {
  return (await settledTimes(tx, system)).nowMs
}

/** Lets everything happen that is due by `nowMs`. */
export async function settle(tx: Transaction, system: System, nowMs: number): Promise<void> {
  for (const { happen } of timedEffects) {
    for (let count = 0; count < mostBatches; count++) {
      if ((await happen(tx, system, nowMs)) < batch) break
    }
  }
}

/** A hold ends at the moment it was to end, however late that is noticed. */
async function lapseHolds(tx: Transaction, system: System, nowMs: number): Promise<number> {
  const lapsed = await lapsedAuthorizations(tx, nowMs, batch)
  for (const purchase of lapsed) {
    const { id, partyId, walletId, heldCents, holdExpiresAtMs: endedAtMs } = purchase
    const wallet = await findWallet(tx, partyId, walletId)
    if (wallet === undefined || endedAtMs === null) throw new Error(`Bug: ${id} holds nothing.`)
    await replaceCardTransaction(tx, purchase, { ...release(purchase, 'expire'), updatedAtMs: endedAtMs })
    await post(tx, system, wallet, released(wallet.id, heldCents), { nowMs: endedAtMs, sourceId: id })
  }
  return lapsed.length
}

async function billSubscriptions(tx: Transaction, system: System, nowMs: number): Promise<number> {
  const due = await dueSubscriptions(tx, nowMs, batch)
  const changes = due.map((before) => ({ before, billed: billUntil(before.terms, before.billing, nowMs) }))
  await saveBillings(tx, system, changes)
  return due.length
}

async function expireInvitations(tx: Transaction, _system: System, nowMs: number): Promise<number> {
  const expired = await expiredInvitations(tx, nowMs, batch)
  for (const invitation of expired) await changeInvitation(tx, invitation, 'expire', invitation.pendingUntilMs ?? nowMs)
  return expired.length
}
