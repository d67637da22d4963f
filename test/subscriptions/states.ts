import type { subscriptionStatuses } from '../../tools/subscriptions.ts'
import { type Merchant, ok, termsOfParts } from './merchant.ts'

export type Status = (typeof subscriptionStatuses)[number]

/** The attributes that are null in a final subscription. */
export const gone = { nextPayment: null, attention: null, checkoutUrl: null, clientSecret: null, expiresAt: null }

export const nonFinal = ['pending', 'active', 'past_due', 'needs_attention'] as const

/**
 * Creates a subscription that has the status on 21 February. The payer's card causes two of the statuses.
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
