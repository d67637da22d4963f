import fc from 'fast-check'
import { expect, it } from 'vitest'
import { worldSchema } from '../../src/worlds/schema.ts'
import { cardBehaviors } from '../../tools/subscriptions.ts'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { createWorld } from '../support/world.ts'

const amount = fc.integer({ min: 1, max: 5_000 })
const price = fc.integer({ min: 50, max: 5_000 })
/** Generates a time that is `min` to `max` days, plus up to 23 hours, before the world begins. */
const moment = (min: number, max: number) =>
  fc.tuple(fc.integer({ min, max }), fc.integer({ min: 0, max: 23 })).map(([day, hour]) => ({ day, hour }))
const asOffset = ({ day, hour }: { day: number; hour: number }) => `-${day * 24 + hour}h`
const when = moment(0, 60).map(asOffset)
/** No balance, or a balance that is larger than the total of all payments from the wallet. */
const balance = fc.option(fc.integer({ min: 500_000, max: 900_000 }), { nil: undefined })

const purchase = fc.record({ captured: fc.integer({ min: 1, max: 999 }), refunded: fc.integer({ min: 1, max: 999 }) })
const card = fc.record({
  maximumAmount: fc.constant(5_000),
  merchant: fc.constantFrom('Books', 'Toys'),
  issued: moment(1, 60),
  bought: fc.option(fc.tuple(fc.constantFrom('captured', 'partially_captured', 'reversed', 'declined'), purchase)),
})

/**
 * Converts a generated card to the form of a world file. If the card has a purchase, the purchase ends at the time at
 * which it was made.
 */
function cardOf({ issued, bought, ...fields }: typeof card extends fc.Arbitrary<infer C> ? C : never) {
  const purchases = (bought ? [bought] : []).map(([status, { captured, refunded }]) => ({
    amount: 1_000,
    status,
    ...(status === 'partially_captured' ? { captured } : {}),
    ...(status === 'declined' ? { decline: 'insufficient_funds' } : {}),
    ...(status.endsWith('captured') ? { refunds: [{ amount: Math.min(captured, refunded) }] } : {}),
  }))
  return { ...fields, agent: 'agent', issuedAt: asOffset(issued), purchases }
}

const payment = fc.record({
  amount,
  at: when,
  to: fc.constantFrom('a', 'b', 'c', 'd@person.example'),
  kind: fc.constantFrom('COMPLETED', 'CANCELED', 'CREATED', 'approved', 'APPROVAL_DENIED'),
  wallet: fc.constantFrom('main', 'spare'),
})

/** Converts a generated payment to the form of a world file, with a status that is possible for its recipient. */
function paymentOf({ to, kind, ...fields }: typeof payment extends fc.Arbitrary<infer P> ? P : never, self: string) {
  const approval = { reasons: [{ limit: 'dailyAmount', limitAmount: 0, actualAmount: fields.amount }] }
  if (to === self || to.includes('@')) {
    const status = kind === 'CREATED' || kind === 'CANCELED' ? kind : 'PENDING_CLAIM'
    return { ...fields, to: 'd@person.example', status, ...(kind === 'approved' ? { approval } : {}) }
  }
  if (kind === 'COMPLETED' || kind === 'CREATED') return { ...fields, to, status: kind }
  return { ...fields, to, status: kind === 'approved' ? 'COMPLETED' : kind, approval }
}

const party = fc.record({
  main: balance,
  spare: balance,
  deposits: fc.array(fc.record({ amount, at: when }), { maxLength: 2 }),
  moves: fc.array(fc.record({ amount, at: when }), { maxLength: 2 }),
  wires: fc.array(
    fc.record({ amount, at: when, status: fc.constantFrom('COMPLETED', 'PROCESSING', 'RETURNED', 'FAILED') }),
    { maxLength: 2 },
  ),
  cards: fc.array(card, { maxLength: 3 }),
  payments: fc.array(payment, { maxLength: 4 }),
  subscriptions: fc.array(fc.record({ amount: price, paidAt: when, card: fc.constantFrom(...cardBehaviors) }), {
    maxLength: 2,
  }),
})
const beneficiary = { name: 'Landlord', accountNumber: '000123456789', routingNumber: '021000021' }

const file = fc.record({ a: party, b: party, c: party }).map((parties) => ({
  clock: '2026-03-15T12:00:00Z',
  parties: Object.fromEntries(
    Object.entries(parties).map(([name, { main, spare, moves, wires, cards, payments, ...rest }]) => [
      name,
      {
        ...rest,
        wallets: {
          main: { displayName: `${name} main`, balance: main },
          spare: { displayName: `${name} spare`, balance: spare },
        },
        agents: { agent: {} },
        internalTransfers: moves.map((move) => ({ ...move, from: 'main', to: 'spare' })),
        wires: wires.map((wire) => ({ ...wire, beneficiary })),
        cards: cards.map(cardOf),
        payments: payments.map((one) => paymentOf(one, name)),
        subscriptions: rest.subscriptions.map((one) => ({
          ...one,
          description: 'News',
          every: { unit: 'week', count: 1 },
        })),
      },
    ]),
  ),
}))

onEachDatabase('random worlds', (database) => {
  it('the books of any world are consistent, and its wallets have the balances of the file', async () => {
    const filled = fc.asyncProperty(file, async (generated) => {
      const declared = worldSchema.parse(generated)
      const world = await createWorld(database, { world: declared })
      try {
        const { wallets } = await proveBooks(world.store)
        const actualCents = new Map(wallets.map(({ displayName, availableCents }) => [displayName, availableCents]))
        const declaredWallets = declared.parties
          .flatMap((one) => one.wallets ?? [])
          .filter(({ balance: cents }) => cents !== undefined)
        for (const { displayName = '', balance: cents } of declaredWallets)
          expect(actualCents.get(displayName), displayName).toBe(cents)
      } finally {
        await world.drop()
      }
    })
    await fc.assert(filled, { numRuns: tries(40) })
  })
})
