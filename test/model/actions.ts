import fc from 'fast-check'
import type { Payee } from './state.ts'

/** One thing that a party does. `pick` chooses among what there is, wherever that is in its life. */
export type Action =
  | { type: 'issue'; maximum: number }
  | { type: 'authorize'; pick: number; amount: number }
  | { type: 'capture' | 'refund'; pick: number; amount: number }
  | { type: 'reverse' | 'expire'; pick: number }
  | { type: 'fund'; by: 'agent' | 'party'; amount: number }
  | { type: 'pay'; by: 'agent' | 'party'; amount: number; to: Payee }
  | { type: 'cancel' | 'claim' | 'approve' | 'deny'; pick: number }
  | { type: 'subscribe' }
  | { type: 'checkout' | 'cancelSubscription'; pick: number }
  | { type: 'invite'; person: number; pick: number }
  | { type: 'revoke' | 'accept' | 'decline' | 'removeCustomer'; pick: number }
  | { type: 'createAgent' | 'createApiKey' }
  | { type: 'deleteAgent' | 'createAgentKey' | 'revokeAgentKey' | 'revokeApiKey'; pick: number }
  | { type: 'pass'; minutes: number }

const pick = fc.nat({ max: 20 })
/** Few, so that captures and refunds of all, of a part and of too much are common. */
const small = fc.constantFrom(100, 200, 300)
const just = <T extends string>(...types: T[]) => fc.constantFrom(...types)

const purchases = [
  { weight: 4, arbitrary: fc.record({ type: just('issue'), maximum: fc.constantFrom(200, 450, 900) }) },
  { weight: 6, arbitrary: fc.record({ type: just('authorize'), pick, amount: small }) },
  { weight: 6, arbitrary: fc.record({ type: just('capture', 'refund'), pick, amount: small }) },
  { weight: 2, arbitrary: fc.record({ type: just('reverse', 'expire'), pick }) },
]

const payments = (amount: fc.Arbitrary<number>, by: fc.Arbitrary<'agent' | 'party'>) => [
  { weight: 1, arbitrary: fc.record({ type: just('fund'), by, amount }) },
  {
    weight: 7,
    arbitrary: fc.record({
      type: just('pay'),
      by,
      amount,
      to: fc.constantFrom<Payee[]>('partner', 'partner', 'bank', 0, 1, 2),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: just('cancel', 'claim', 'approve', 'deny'), pick }) },
  // Past the expiry of a card (an hour), into another day, and past the end of a checkout (a day).
  { weight: 1, arbitrary: fc.record({ type: just('pass'), minutes: fc.constantFrom(1, 61, 720, 1441) }) },
]

const people = [
  { weight: 2, arbitrary: fc.record({ type: just('subscribe') }) },
  { weight: 2, arbitrary: fc.record({ type: just('checkout', 'cancelSubscription'), pick }) },
  { weight: 6, arbitrary: fc.record({ type: just('invite'), person: fc.nat({ max: 2 }), pick }) },
  { weight: 5, arbitrary: fc.record({ type: just('revoke', 'accept', 'decline', 'removeCustomer'), pick }) },
  { weight: 2, arbitrary: fc.record({ type: just('createAgent', 'createApiKey') }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: just('deleteAgent', 'createAgentKey', 'revokeAgentKey', 'revokeApiKey'), pick }),
  },
]

const cents = fc.oneof(fc.integer({ min: 1, max: 900 }), fc.integer({ min: 20_000, max: 60_000 }))

/** Any action of a party. */
export const anyAction: fc.Arbitrary<Action> = fc.oneof(
  ...purchases,
  ...payments(cents, just('agent', 'party')),
  ...people,
)

/** An action that moves money, in amounts at and around limits of 100 and 250 cents, mostly by the agent that they bind. */
export const moneyAction: fc.Arbitrary<Action> = fc.oneof(
  ...payments(fc.constantFrom(1, 50, 100, 100, 101, 300, 900), just('agent', 'agent', 'agent', 'party')),
)

/** A purchase or payment of an agent: both count into the same limits. */
export const spendingAction: fc.Arbitrary<Action> = fc.oneof(
  ...purchases,
  ...payments(fc.constantFrom(1, 100, 250, 400, 401), just('agent')),
)
