import type { System } from '../../core/system.ts'
import { release } from '../rules/card-purchases.ts'
import { released } from '../rules/ledger.ts'
import { billUntil } from '../rules/subscriptions.ts'
import { letBanksAct } from '../store/bank-transfers.ts'
import { lapsedAuthorizations, lapses, replaceCardTransaction } from '../store/card-transactions.ts'
import type { DueOf, Moments } from '../store/clock.ts'
import { changeInvitation, expiredInvitations, invitationExpiries } from '../store/customer-invitations.ts'
import type { Transaction } from '../store/engine/store.ts'
import { postAll } from '../store/ledger.ts'
import { changePaymentRequest, expiredRequests, requestExpiries } from '../store/payment-requests.ts'
import { bankMoments } from '../store/payments.ts'
import { shopMoments } from '../store/shop-orders.ts'
import { dueSubscriptions, saveBillings, subscriptionEvents } from '../store/subscriptions.ts'
import { findWallet } from '../store/wallets.ts'
import { letShopsAct } from './shop-events.ts'

/** Something that happens by itself when its time comes. */
interface TimedEffect {
  kind: string
  moments: Moments
  /** Lets those happen that are due, the longest due first and at most so many; gives how many it were. */
  happen(tx: Transaction, system: System, due: DueOf): Promise<number>
}

/** Everything that happens by itself, in the order in which it happens to a party where several are due at once. */
export const timedEffects = [
  // What shops do comes first: a capture before its hold was to lapse happens, however late both are noticed.
  { kind: 'shop', moments: shopMoments, happen: letShopsAct },
  { kind: 'bank', moments: bankMoments, happen: letBanksAct },
  { kind: 'hold', moments: lapses, happen: lapseHolds },
  { kind: 'subscription', moments: subscriptionEvents, happen: billSubscriptions },
  { kind: 'invitation', moments: invitationExpiries, happen: expireInvitations },
  { kind: 'request', moments: requestExpiries, happen: expireRequests },
] as const satisfies readonly TimedEffect[]

/** What kinds of things happen by themselves. */
export type TimedKind = (typeof timedEffects)[number]['kind']

/** A hold ends at the moment it was to end, however late that is noticed. */
async function lapseHolds(tx: Transaction, system: System, due: DueOf): Promise<number> {
  const lapsed = await lapsedAuthorizations(tx, due)
  for (const purchase of lapsed) {
    const updatedAtMs = endOf(purchase)
    await replaceCardTransaction(tx, purchase, { ...release(purchase, 'expire'), updatedAtMs })
  }
  for (const [walletId, of] of Map.groupBy(lapsed, (purchase) => purchase.walletId)) {
    const wallet = await findWallet(tx, due.partyId, walletId)
    if (wallet === undefined) throw new Error(`Bug: the wallet ${walletId} of a hold is gone.`)
    const postings = of.map((purchase) => {
      const posting = released(walletId, purchase.heldCents)
      return { posting, nowMs: endOf(purchase), sourceId: purchase.id }
    })
    await postAll(tx, system, wallet, postings)
  }
  return lapsed.length
}

function endOf({ id, holdExpiresAtMs }: { id: string; holdExpiresAtMs: number | null }): number {
  if (holdExpiresAtMs === null) throw new Error(`Bug: ${id} holds nothing.`)
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
    // One that was opened again after its time expires with that.
    const atMs = Math.max(request.openUntilMs ?? due.nowMs, request.updatedAtMs)
    await changePaymentRequest(tx, request, 'expire', atMs)
  }
  return expired.length
}
