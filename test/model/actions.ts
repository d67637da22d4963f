import fc from 'fast-check'
import type { CardBehavior } from '../../src/service/rules/card-behaviors.ts'
import { cardBehaviors } from '../../tools/subscriptions.ts'
import { linkedBy } from './banks.ts'

type By = 'agent' | 'party'

/** One action of a party. `pick` chooses among the existing records of any state. */
export type Action =
  | { type: 'issue'; maximum: number }
  | { type: 'authorize'; pick: number; amount: number }
  | { type: 'capture' | 'refund'; pick: number; amount: number }
  | { type: 'reverse' | 'expire'; pick: number }
  | { type: 'fund'; by: By; amount: number }
  | { type: 'pay'; by: By; amount: number; to: 'partner' | 'bank' | number }
  | { type: 'cancel' | 'claim'; pick: number; by?: By }
  | { type: 'approve' | 'deny'; pick: number }
  | { type: 'ask'; by: By; amount: number; payer: 'partner' | 'customer' | number }
  | { type: 'fulfill'; by: By; pick: number }
  | { type: 'declineRequest' | 'cancelRequest'; pick: number }
  | { type: 'playPayer'; pick: number; answer: 'fulfill' | 'decline' }
  | { type: 'link'; by: By; token: keyof typeof linkedBy }
  | { type: 'disconnect'; pick: number; connection: 'login_required' | 'disconnected' }
  | { type: 'unlink'; pick: number }
  | ({ type: 'transfer'; by: By; kind: 'deposit' | 'withdrawal' } & Amounts)
  | { type: 'playBank'; pick: number; outcome: 'settle' | 'fail' | 'return' }
  | { type: 'subscribe'; unit: 'week' | 'month'; count: number; parts: number }
  | { type: 'checkout'; pick: number; card: CardBehavior }
  | { type: 'changeCard'; pick: number; card: CardBehavior; ahead: number | undefined }
  | { type: 'markPaid'; pick: number; which: 'missed' | 'next' }
  | { type: 'cancelSubscription' | 'resume'; pick: number }
  | { type: 'invite'; person: number; pick: number; permissions: readonly string[]; perTransaction: number | undefined }
  | { type: 'revoke' | 'accept' | 'decline' | 'removeCustomer'; pick: number }
  | { type: 'createAgent' | 'createApiKey' }
  | { type: 'deleteAgent' | 'createAgentKey' | 'revokeAgentKey' | 'revokeApiKey'; pick: number }
  | { type: 'pass'; minutes: number }
  /** The agent carries out `action` for a customer. */
  | { type: 'act'; pick: number; action: Acted }

interface Amounts {
  pick: number
  amount: number
  method: 'standard' | 'instant' | 'wire'
}

/** An action that a grant may allow, and the permission that it needs. */
export type Acted = Action & { type: keyof typeof needed }
export const needed = {
  fund: 'wallets.read',
  pay: 'payments.create',
  cancel: 'payments.create',
  claim: 'payments.read',
  approve: 'payments.read',
  deny: 'payments.read',
  ask: 'payments.create',
  fulfill: 'payments.create',
  declineRequest: 'payments.create',
  cancelRequest: 'payments.create',
  link: 'external_accounts.create',
  transfer: 'wallets.deposit',
  subscribe: 'payments.create',
  checkout: 'payments.create',
  changeCard: 'payments.create',
  markPaid: 'payments.create',
  resume: 'payments.create',
  cancelSubscription: 'payments.create',
} as const

const pick = fc.nat({ max: 20 })
/** Only three amounts, so that full, partial and excessive captures and refunds are all common. */
const small = fc.constantFrom(100, 200, 300)
const just = <T extends string>(...types: T[]) => fc.constantFrom(...types)

const reading = ['payments.read', 'wallets.read']
const everything = [...reading, 'payments.create']
const banking = [...everything, 'wallets.deposit', 'wallets.withdraw', 'external_accounts.create']

const purchases = [
  { weight: 4, arbitrary: fc.record({ type: just('issue'), maximum: fc.constantFrom(200, 450, 900) }) },
  { weight: 6, arbitrary: fc.record({ type: just('authorize'), pick, amount: small }) },
  { weight: 6, arbitrary: fc.record({ type: just('capture', 'refund'), pick, amount: small }) },
  { weight: 2, arbitrary: fc.record({ type: just('reverse', 'expire'), pick }) },
]

const payments = (amount: fc.Arbitrary<number>, by: fc.Arbitrary<By>) => [
  { weight: 1, arbitrary: fc.record({ type: just('fund'), by, amount }) },
  {
    weight: 7,
    arbitrary: fc.record({
      type: just('pay'),
      by,
      amount,
      to: fc.constantFrom<(Action & { type: 'pay' })['to'][]>('partner', 'partner', 'bank', 0, 1, 2),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: just('cancel', 'claim', 'approve', 'deny'), pick }) },
  // These waits reach the expiry of a card (an hour), midnight, or the end of a checkout (a day).
  { weight: 1, arbitrary: fc.record({ type: just('pass'), minutes: fc.constantFrom(1, 61, 720, 1441) }) },
]

const day = 24 * 60

const people = [
  {
    weight: 6,
    arbitrary: fc.record({
      type: just('invite'),
      person: fc.nat({ max: 2 }),
      pick,
      permissions: fc.constantFrom<(readonly string[])[]>(banking, banking, everything, reading, ['payments.create']),
      perTransaction: fc.constantFrom(undefined, 100, 500),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ type: just('revoke', 'accept', 'accept', 'accept', 'decline', 'removeCustomer'), pick }),
  },
]

const keys = [
  { weight: 2, arbitrary: fc.record({ type: just('createAgent', 'createApiKey') }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: just('deleteAgent', 'createAgentKey', 'revokeAgentKey', 'revokeApiKey'), pick }),
  },
]

const card = fc.constantFrom<CardBehavior>(...cardBehaviors)
const billing = [
  {
    weight: 2,
    arbitrary: fc.record({
      type: just('subscribe'),
      unit: just('week', 'month'),
      count: fc.constantFrom(1, 1, 1, 2, 5, 26),
      parts: fc.constantFrom(1, 1, 2, 3, 4),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: just('checkout'), pick, card: fc.oneof(just('approves'), card) }) },
  {
    weight: 5,
    arbitrary: fc.record({ type: just('changeCard'), pick, card, ahead: fc.constantFrom(undefined, 0, 1, 2) }),
  },
  { weight: 3, arbitrary: fc.record({ type: just('markPaid'), pick, which: just('missed', 'next') }) },
  { weight: 3, arbitrary: fc.record({ type: just('resume', 'resume', 'cancelSubscription'), pick }) },
]

const requests = (amount: fc.Arbitrary<number>, by: fc.Arbitrary<By>) => [
  {
    weight: 5,
    arbitrary: fc.record({
      type: just('ask'),
      by,
      amount,
      payer: fc.constantFrom<(Action & { type: 'ask' })['payer'][]>('partner', 'partner', 'customer', 0, 1),
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: just('fulfill'), by, pick }) },
  { weight: 2, arbitrary: fc.record({ type: just('declineRequest', 'cancelRequest'), pick }) },
  { weight: 3, arbitrary: fc.record({ type: just('playPayer'), pick, answer: just('fulfill', 'fulfill', 'decline') }) },
]

const tokens = Object.keys(linkedBy) as (keyof typeof linkedBy)[]
const banks = (amount: fc.Arbitrary<number>, by: fc.Arbitrary<By>) => [
  { weight: 3, arbitrary: fc.record({ type: just('link'), by, token: fc.constantFrom(...tokens) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: just('disconnect'), pick, connection: just('login_required', 'disconnected') }),
  },
  { weight: 1, arbitrary: fc.record({ type: just('unlink'), pick }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: just('transfer'),
      by,
      kind: just('deposit', 'withdrawal'),
      pick,
      amount: amount.map((cents) => Math.max(100, cents)),
      method: just('standard', 'instant', 'wire'),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: just('playBank'), pick, outcome: just('settle', 'fail', 'return') }) },
]

/** Waits until the next try of a charge, the next step of a bank, the next payment, or an expiry after 30 days. */
const days = fc.record({ type: just('pass'), minutes: fc.constantFrom(1, 3, 5, 7, 14, 31).map((count) => count * day) })

const cents = fc.oneof(fc.integer({ min: 1, max: 900 }), fc.integer({ min: 20_000, max: 60_000 }))
/** Amounts near limits of 100 and 250 cents. */
const close = fc.constantFrom(1, 50, 100, 100, 101, 300, 900)
const anybody = just('agent', 'party')
const mostlyAgent = just('agent', 'agent', 'agent', 'party')

type Weighted = fc.WeightedArbitrary<Action>

/** Actions of agents for customers. Customers have no money until they are funded. */
function acts(...all: Weighted[]): Weighted {
  const action = fc.oneof(...all).filter((one): one is Acted => one.type in needed)
  return { weight: 40, arbitrary: fc.record({ type: just('act'), pick, action }) }
}

/** Any action of a party. */
export const anyAction: fc.Arbitrary<Action> = fc.oneof(
  ...purchases,
  ...payments(cents, anybody),
  ...billing,
  ...requests(cents, anybody),
  ...banks(cents, anybody),
  ...people,
  ...keys,
)

/** An action that moves money, mostly by the agent with limits. */
export const moneyAction: fc.Arbitrary<Action> = fc.oneof(...payments(close, mostlyAgent))

/** A purchase or payment of an agent. The same limits apply to both. */
export const spendingAction: fc.Arbitrary<Action> = fc.oneof(
  ...purchases,
  ...payments(fc.constantFrom(1, 100, 250, 400, 401), just('agent')),
)

/** Kinds of histories: the first actions, and the actions that may follow. */
export const histories: Readonly<Record<string, { begins: Action[]; action: fc.Arbitrary<Action> }>> = {
  'payment requests': {
    begins: [],
    action: fc.oneof(...requests(close, mostlyAgent), ...payments(close, mostlyAgent)),
  },
  banks: {
    begins: [],
    action: fc.oneof(...banks(close, mostlyAgent), ...payments(close, mostlyAgent), { weight: 3, arbitrary: days }),
  },
  subscriptions: {
    begins: [
      { type: 'subscribe', unit: 'week', count: 1, parts: 1 },
      { type: 'checkout', pick: 1, card: 'approves' },
      { type: 'subscribe', unit: 'month', count: 1, parts: 4 },
      { type: 'checkout', pick: 1, card: 'declines_once' },
      { type: 'checkout', pick: 1, card: 'declines_once' },
    ],
    action: fc.oneof(...billing, { weight: 6, arbitrary: days }),
  },
  customers: {
    begins: [
      { type: 'invite', person: 0, pick: 1, permissions: banking, perTransaction: 100 },
      { type: 'accept', pick: 1 },
      { type: 'act', pick: 1, action: { type: 'fund', by: 'agent', amount: 2000 } },
      { type: 'act', pick: 1, action: { type: 'link', by: 'agent', token: 'accounts' } },
    ],
    action: fc.oneof(
      ...people,
      { weight: 1, arbitrary: days },
      acts(
        { weight: 2, arbitrary: fc.record({ type: just('fund'), by: just('agent'), amount: fc.constant(2000) }) },
        ...payments(close, just('agent')),
        ...requests(close, just('agent')),
        ...banks(close, just('agent')),
        ...billing,
      ),
      { weight: 8, arbitrary: fc.oneof(...requests(close, mostlyAgent)) },
    ),
  },
}
