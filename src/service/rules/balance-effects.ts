import type { CardMovement } from './card-purchases.ts'
import type { PaymentRequestStatus } from './payment-requests.ts'
import type { PaymentStatus } from './payments.ts'

/** The total effect of one record (a payment, purchase or payment request) on a wallet, in cents. */
export interface BalanceEffect {
  walletId: string
  availableCents: number
  heldCents: number
}

type Purchase = Pick<CardMovement, 'heldCents' | 'capturedCents' | 'refundedCents'> & { walletId: string }

/** Returns the effect of a purchase and its refunds. The refunds' own records must not be counted in addition. */
export function effectOfPurchase({ walletId, heldCents, capturedCents, refundedCents }: Purchase): BalanceEffect {
  return { walletId, availableCents: refundedCents - capturedCents - heldCents, heldCents }
}

interface Payment {
  kind: 'payment' | 'wire' | 'deposit' | 'withdrawal' | 'internal'
  status: PaymentStatus
  walletId: string
  amountCents: number
  heldCents: number
  externalAccountId: string | null
  method: string | null
  beneficiary: string | null
}

/**
 * Returns the effect of a payment or transfer on the wallets of the party that initiated it. A payment with a card or
 * from a bank account does not change these wallets.
 */
export function effectsOfPayment(payment: Payment): BalanceEffect[] {
  const { kind, status, walletId, amountCents, heldCents, externalAccountId, method, beneficiary } = payment
  const held = { walletId, availableCents: -heldCents, heldCents }
  const isPaidOutside = kind === 'payment' && (externalAccountId !== null || method === 'card')
  if (status !== 'COMPLETED' || isPaidOutside) return [held]
  const effect = { walletId, availableCents: kind === 'deposit' ? amountCents : -amountCents, heldCents: 0 }
  if (kind !== 'internal') return [effect]
  const to = JSON.parse(beneficiary ?? '{}') as { walletId: string }
  return [effect, { walletId: to.walletId, availableCents: amountCents, heldCents: 0 }]
}

interface Request {
  status: PaymentRequestStatus
  walletId: string
  amountCents: number
}

/** Returns the effect of a payment request on the requester's wallet. */
export function effectOfRequest({ status, walletId, amountCents }: Request): BalanceEffect {
  return { walletId, availableCents: status === 'COMPLETED' ? amountCents : 0, heldCents: 0 }
}

/** Returns the sum of the effects for each wallet, ordered by wallet id. Sums of zero are included. */
export function sumByWallet(effects: readonly BalanceEffect[]): BalanceEffect[] {
  const sums = new Map<string, BalanceEffect>()
  for (const { walletId, availableCents, heldCents } of effects) {
    const sum = sums.get(walletId) ?? { walletId, availableCents: 0, heldCents: 0 }
    sums.set(walletId, {
      walletId,
      availableCents: sum.availableCents + availableCents,
      heldCents: sum.heldCents + heldCents,
    })
  }
  return [...sums.values()].sort((one, other) => (one.walletId < other.walletId ? -1 : 1))
}
