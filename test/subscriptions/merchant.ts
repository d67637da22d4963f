import { expect } from 'vitest'
import type { LedgerEntryRow } from '../../src/service/store/schema/ledger.ts'
import type { SubscriptionPaymentRow } from '../../src/service/store/schema/subscription-payments.ts'
import { proveBooks } from '../ledger/books.ts'
import type { Answer, Sent, World } from '../support/world.ts'

export const dayMs = 86_400_000

export type Attributes = Record<string, unknown>

export const monthly = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 100 } as const
export const weekly = { ...monthly, every: { unit: 'week', count: 1 } } as const

/** Returns the terms of a subscription whose total amount is paid in a fixed number of monthly payments. */
export function termsOfParts(paymentCount: number, totalAmount = 1000 * paymentCount) {
  return { description: 'Course', every: { unit: 'month', count: 1 }, totalAmount, taxAmount: 0, paymentCount } as const
}

export interface Merchant {
  /**
   * Creates a subscription, and returns its id.
   * @throws Error if the request is refused
   */
  create(attributes?: Attributes, sent?: Sent): Promise<string>
  /** Creates a subscription, pays payment 1 in the checkout, and returns the id of the subscription. */
  active(attributes?: Attributes, card?: string): Promise<string>
  checkout(id: string, card?: string, sent?: Sent): Promise<Answer>
  card(id: string, behavior: string, fromPaymentNumber?: number, sent?: Sent): Promise<Answer>
  cancel(id: string, sent?: Sent): Promise<Answer>
  resume(id: string, sent?: Sent): Promise<Answer>
  markPaid(id: string, paymentNumber: number, sent?: Sent): Promise<Answer>
  get(id: string, sent?: Sent): Promise<Answer>
  /** Returns the current attributes of a subscription. */
  read(id: string): Promise<Attributes>
  /** Advances the sandbox clock to the start of a day (`2026-02-15`) or to a timestamp. */
  to(when: string): Promise<void>
  /** Advances the sandbox clock by a whole or fractional number of days. */
  pass(days: number): Promise<void>
  /** Returns the subscription's charged payments in the order of their numbers. */
  charged(id: string): Promise<SubscriptionPaymentRow[]>
  /** Returns the number and day of each charged payment, such as `2 2026-02-15`. */
  chargedOn(id: string): Promise<string[]>
}

/**
 * Returns functions that act as a merchant and a payer through the public API of the given world. Only `charged` and
 * `chargedOn` read the world's database.
 */
export function merchant(world: World): Merchant {
  const simulate = (id: string, action: string) => `/simulations/subscriptions/${id}/${action}`
  const checkout: Merchant['checkout'] = (id, card = 'approves', sent) =>
    world.post(simulate(id, 'checkout'), { card }, sent)
  const create: Merchant['create'] = async (attributes = monthly, sent) =>
    ok(await world.post('/subscriptions', attributes, sent)).json.data.id
  const charged: Merchant['charged'] = (id) =>
    world.store.transaction(({ db }) =>
      db
        .selectFrom('subscriptionPayments')
        .selectAll()
        .where('subscriptionId', '=', id)
        .orderBy('paymentNumber')
        .execute(),
    )
  return {
    create,
    checkout,
    charged,
    active: async (attributes, card) => {
      const id = await create(attributes)
      expect(ok(await checkout(id, card)).json.data.attributes.mandateId).not.toBeNull()
      return id
    },
    card: (id, behavior, fromPaymentNumber, sent) =>
      world.post(simulate(id, 'card'), { behavior, fromPaymentNumber }, sent),
    cancel: (id, sent) => world.post(`/subscriptions/${id}/cancel`, {}, sent),
    resume: (id, sent) => world.post(`/subscriptions/${id}/resume`, {}, sent),
    markPaid: (id, number, sent) => world.post(`/subscriptions/${id}/payments/${number}/mark-paid`, {}, sent),
    get: (id, sent) => world.get(`/subscriptions/${id}`, sent),
    read: async (id) => ok(await world.get(`/subscriptions/${id}`)).json.data.attributes,
    to: async (when) => {
      const to = when.length === 10 ? `${when}T00:00:00.000Z` : when
      ok(await world.post('/simulations/clock/advance', { to }))
    },
    pass: async (days) => {
      ok(await world.post('/simulations/clock/advance', { seconds: Math.round(days * 86_400) }))
    },
    chargedOn: async (id) =>
      (await charged(id)).map(
        ({ paymentNumber, chargedAtMs }) => `${paymentNumber} ${new Date(chargedAtMs).toISOString().slice(0, 10)}`,
      ),
  }
}

export function ok(answer: Answer): Answer {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer
}

/**
 * Checks that each payment was charged at most once, and that each charge is one posting from the payer's card to the
 * subscription's wallet, at the time of the charge. Also checks all invariants of `proveBooks`. Returns the ledger
 * entries of the charges.
 */
export async function proveCharges({ store }: Pick<World, 'store'>): Promise<LedgerEntryRow[]> {
  const { entries } = await proveBooks(store)
  const { payments, walletIds } = await store.transaction(async ({ db }) => ({
    payments: await db.selectFrom('subscriptionPayments').selectAll().execute(),
    walletIds: new Map(
      (await db.selectFrom('subscriptions').select(['id', 'walletId']).execute()).map((row) => [row.id, row.walletId]),
    ),
  }))
  const keys = payments.map(({ subscriptionId, paymentNumber }) => `${subscriptionId} ${paymentNumber}`)
  expect(new Set(keys).size).toBe(keys.length)
  const paid = entries.filter(({ reason }) => reason === 'subscription_paid')
  const actual = paid.map(
    (entry) => `${entry.sourceId} ${entry.createdAtMs} ${entry.account} ${entry.walletId} ${entry.amountCents}`,
  )
  const expected = payments.flatMap(({ subscriptionId, chargedAtMs, amountCents }) => [
    `${subscriptionId} ${chargedAtMs} available ${walletIds.get(subscriptionId)} ${amountCents}`,
    `${subscriptionId} ${chargedAtMs} payer_cards null ${-amountCents}`,
  ])
  expect(actual.sort()).toEqual(expected.sort())
  return paid
}
