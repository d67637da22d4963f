import type { Names } from './final-state.ts'
import type { LedgerMove, MoneyPoint } from './results.ts'
import type { Payment, Purchase, Rows } from './rows.ts'

/** What the ledger did between two moments, in words. */
export function movesBetween(before: Rows, after: Rows, names: Names): LedgerMove[] {
  const moves: LedgerMove[] = []
  for (const [id, purchase] of after.purchases) moves.push(...purchaseMoves(before.purchases.get(id), purchase))
  for (const [id, payment] of after.payments) moves.push(...paymentMoves(before.payments.get(id), payment, names))
  return moves
}

function purchaseMoves(before: Purchase | undefined, after: Purchase): LedgerMove[] {
  const { merchant, decline, amountCents } = after
  if (before === undefined && decline !== null) {
    return [{ says: `declined at ${merchant} (${decline})`, cents: amountCents }]
  }
  const captured = after.capturedCents - (before?.capturedCents ?? 0)
  const refunded = after.refundedCents - (before?.refundedCents ?? 0)
  const held = before === undefined ? amountCents : 0
  // What was held and neither is any more nor was captured went back.
  const released = (before?.heldCents ?? amountCents) - after.heldCents - captured
  return [
    ...moved(`held for ${merchant}`, held),
    ...moved(`captured by ${merchant}`, captured),
    ...moved(`released by ${merchant}`, released),
    ...moved(`refunded by ${merchant}`, refunded),
  ]
}

function paymentMoves(before: Payment | undefined, after: Payment, names: Names): LedgerMove[] {
  if (before?.status === after.status) return []
  const { recipientPartyId, payee, status, amountCents } = after
  const to = recipientPartyId === null ? payee : names.payee(recipientPartyId)
  const says: Readonly<Record<string, string>> = {
    COMPLETED: before?.status === 'PENDING_CLAIM' ? `claimed by ${to}` : `paid to ${to}`,
    PENDING_CLAIM: `set aside for ${to}`,
    IN_REVIEW: `waits for approval, to ${to}`,
    APPROVAL_DENIED: `not paid to ${to}: it was refused`,
    CANCELED: `canceled, to ${to}`,
  }
  return moved(says[status] ?? `${status}, to ${to}`, amountCents)
}

const moved = (says: string, cents: number): LedgerMove[] => (cents === 0 ? [] : [{ says, cents }])

/** The money of a party at a moment. */
export function moneyAt({ nowMs, wallets, purchases, payments }: Rows, partyId: string): MoneyPoint {
  const own = wallets.filter((wallet) => wallet.partyId === partyId)
  const bought = [...purchases.values()].filter((purchase) => purchase.partyId === partyId)
  const paid = [...payments.values()].filter((payment) => payment.partyId === partyId && payment.status === 'COMPLETED')
  return {
    atMs: nowMs,
    availableCents: own.reduce((sum, { availableCents }) => sum + availableCents, 0),
    heldCents: own.reduce((sum, { heldCents }) => sum + heldCents, 0),
    spentCents:
      bought.reduce((sum, { capturedCents, refundedCents }) => sum + capturedCents - refundedCents, 0) +
      paid.reduce((sum, { amountCents }) => sum + amountCents, 0),
  }
}
