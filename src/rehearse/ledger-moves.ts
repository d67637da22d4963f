import type { Names } from './effects/descriptions.ts'
import type { Moment, Snapshot } from './effects/tables.ts'
import { maskText } from './mask.ts'
import type { LedgerMove, MoneyPoint } from './results.ts'
import { type Payment, type Purchase, payeeOf, paymentsIn, purchasesIn, rowsOf } from './rows.ts'

/** Describes the money that moved in purchases and payments between two snapshots. */
export function movesBetween(before: Snapshot, after: Snapshot, names: Names): LedgerMove[] {
  if (before === after) return []
  const [purchases, payments] = [purchasesIn(before), paymentsIn(before)]
  return [
    ...[...purchasesIn(after)].flatMap(([id, purchase]) => purchaseMoves(purchases.get(id), purchase)),
    ...[...paymentsIn(after)].flatMap(([id, payment]) => paymentMoves(payments.get(id), payment, names)),
  ]
}

function purchaseMoves(before: Purchase | undefined, after: Purchase): LedgerMove[] {
  const { declineCode, amountCents } = after
  const merchant = maskText(after.merchantName)
  if (before === undefined && declineCode !== null) {
    return [{ says: `declined at ${merchant} (${declineCode})`, cents: amountCents }]
  }
  const captured = after.capturedCents - (before?.capturedCents ?? 0)
  const refunded = after.refundedCents - (before?.refundedCents ?? 0)
  const held = before === undefined ? amountCents : 0
  // The merchant released any money that is no longer held and was not captured.
  const released = (before?.heldCents ?? amountCents) - after.heldCents - captured
  return [
    ...ledgerMove(`held for ${merchant}`, held),
    ...ledgerMove(`captured by ${merchant}`, captured),
    ...ledgerMove(`released by ${merchant}`, released),
    ...ledgerMove(`refunded by ${merchant}`, refunded),
  ]
}

function paymentMoves(before: Payment | undefined, after: Payment, names: Names): LedgerMove[] {
  if (before?.status === after.status) return []
  const { status, amountCents } = after
  const to = payeeOf(after, names)
  const says: Readonly<Record<string, string>> = {
    COMPLETED: before?.status === 'PENDING_CLAIM' ? `claimed by ${to}` : `paid to ${to}`,
    PENDING_CLAIM: `reserved for ${to}`,
    IN_REVIEW: `pending approval, to ${to}`,
    APPROVAL_DENIED: `not paid to ${to}: approval denied`,
    CANCELED: `canceled, to ${to}`,
  }
  return ledgerMove(says[status] ?? `${status}, to ${to}`, amountCents)
}

const ledgerMove = (says: string, cents: number): LedgerMove[] => (cents === 0 ? [] : [{ says, cents }])

/** Sums up a party's money at a moment: available, on hold, and spent so far. */
export function moneyAt({ nowMs, tables }: Moment, partyId: string): MoneyPoint {
  const sum = <Row extends { partyId: string }>(rows: Iterable<Row>, centsOf: (row: Row) => number) =>
    [...rows].reduce((total, row) => (row.partyId === partyId ? total + centsOf(row) : total), 0)
  const wallets = rowsOf(tables, 'wallets')
  return {
    atMs: nowMs,
    availableCents: sum(wallets, ({ availableCents }) => availableCents),
    heldCents: sum(wallets, ({ heldCents }) => heldCents),
    spentCents:
      sum(purchasesIn(tables).values(), ({ capturedCents, refundedCents }) => capturedCents - refundedCents) +
      sum(paymentsIn(tables).values(), ({ status, amountCents }) => (status === 'COMPLETED' ? amountCents : 0)),
  }
}
