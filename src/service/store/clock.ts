import { prepared } from './prepared.ts'
import type { Transaction } from './store.ts'

export interface ClockReading {
  /** How far the sandbox's clock is ahead of real time. */
  offsetMs: number
  /** When the next hold lapses, if there is one. */
  nextHoldExpiresAtMs: number | null
  /** When something happens next to a subscription by itself, if anything does. */
  nextSubscriptionEventAtMs: number | null
  /** When the next invitation expires, if one is pending. */
  nextInvitationExpiresAtMs: number | null
  /** When the operation finished whose key is remembered the longest, if there is one. */
  oldestFinishedAtMs: number | null
}

/** The clock, and in the same query whether anything that time brings about may be due. */
export async function readClock(tx: Transaction): Promise<ClockReading> {
  const [reading] = (await read(tx, {})).rows
  if (reading === undefined) throw new Error('Bug: the clock has no row.')
  return reading
}

const read = prepared((db, _none: object) =>
  db.selectFrom('clock').select((select) => [
    'offsetMs',
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
      .select((row) => row.fn.min('finishedAtMs').as('min'))
      .as('oldestFinishedAtMs'),
  ]),
)

/** How far the sandbox's clock is ahead of real time, milliseconds. */
export async function clockOffset(tx: Transaction): Promise<number> {
  const [row] = (await readOffset(tx, {})).rows
  if (row === undefined) throw new Error('Bug: the clock has no row.')
  return row.offsetMs
}

const readOffset = prepared((db, _none: object) => db.selectFrom('clock').select('offsetMs'))

export async function moveClock(tx: Transaction, byMs: number): Promise<void> {
  await tx.db
    .updateTable('clock')
    .set((row) => ({ offsetMs: row('offsetMs', '+', byMs) }))
    .execute()
}
