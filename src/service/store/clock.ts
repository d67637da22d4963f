import { type RawBuilder, sql } from 'kysely'
import { prepared } from './engine/prepared.ts'
import type { TimeReading } from './engine/real-clock.ts'
import type { Transaction } from './engine/store.ts'

export interface ClockReading extends TimeReading {
  /** How far the sandbox's clock is ahead of real time. */
  offsetMs: number
  /** When the next hold lapses, if there is one. */
  nextHoldExpiresAtMs: number | null
  /** When something happens next to a subscription by itself, if anything does. */
  nextSubscriptionEventAtMs: number | null
  /** When the next invitation expires, if one is pending. */
  nextInvitationExpiresAtMs: number | null
  /** When the last operation finished whose key is remembered, by the service's clock. */
  lastFinishedAtMs: number | null
}

/** The clock, and in the same query whether anything that time brings about may be due. */
export async function readClock(tx: Transaction): Promise<ClockReading> {
  const [reading] = (await (tx.clock.shared ? readShared : readOwn)(tx, {})).rows
  if (reading === undefined) throw new Error('Bug: the clock has no row.')
  return reading
}

/** Not the time that the transaction began at, which may have waited since. */
const readShared = reading(sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`)
const readOwn = reading(sql<null>`null`)

function reading(databaseNow: RawBuilder<number | null>) {
  return prepared((db, _none: object) =>
    db.selectFrom('clock').select((select) => [
      'offsetMs',
      'highestMs',
      'epoch',
      databaseNow.as('databaseNowMs'),
      select
        .selectFrom('cardTransactions')
        .select((row) => row.fn.min('holdExpiresAtMs').as('min'))
        .where('holdExpiresAtMs', 'is not', null)
        .as('nextHoldExpiresAtMs'),
      select
        .selectFrom('subscriptions')
        .select((row) => row.fn.min('nextEventAtMs').as('min'))
        .as('nextSubscriptionEventAtMs'),
      select
        .selectFrom('customerInvitations')
        .select((row) => row.fn.min('pendingUntilMs').as('min'))
        .where('pendingUntilMs', 'is not', null)
        .as('nextInvitationExpiresAtMs'),
      select
        .selectFrom('idempotencyRecords')
        .select((row) => row.fn.max('finishedAtMs').as('max'))
        .as('lastFinishedAtMs'),
    ]),
  )
}

export async function moveClock(tx: Transaction, byMs: number): Promise<void> {
  await tx.db
    .updateTable('clock')
    .set((row) => ({ offsetMs: row('offsetMs', '+', byMs) }))
    .execute()
}

/** Keeps the latest time that was seen for those who come later, unless time has begun anew since. */
export async function keepHighest(tx: Transaction, highestMs: number, epoch: number): Promise<void> {
  await tx.db
    .updateTable('clock')
    .set({ highestMs })
    .where('epoch', '=', epoch)
    .where('highestMs', '<', highestMs)
    .execute()
}
