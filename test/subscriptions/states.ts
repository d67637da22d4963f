import type { subscriptionStatuses } from '../../tools/subscriptions.ts'
import { type Merchant, ok, termsOfParts } from './merchant.ts'

export type Status = (typeof subscriptionStatuses)[number]

/** The attributes that are always null in a canceled or completed subscription. */
export const finalNulls = { nextPayment: null, attention: null, checkoutUrl: null, clientSecret: null, expiresAt: null }

export const nonFinal = ['pending', 'active', 'past_due', 'needs_attention'] as const

/**
 * Creates a subscription that will have the status on February 21. For `past_due` and `needs_attention`, the card fails
 * on February 15, when payment 2 is due.
 */
export async function createInState(shop: Merchant, status: Status): Promise<string> {
  const id = await shop.create({ ...termsOfParts(4), expiresInMinutes: null })
  if (status === 'pending') return id
  if (status === 'canceled') return ok(await shop.cancel(id)).json.data.id
  ok(await shop.checkout(id))
  if (status === 'completed') for (const number of [2, 3, 4]) ok(await shop.markPaid(id, number))
  if (status === 'past_due') {
    ok(await shop.card(id, 'declines'))
    ok(await shop.card(id, 'approves', 3))
  }
  if (status === 'needs_attention') ok(await shop.card(id, 'blocked'))
  return id
}
