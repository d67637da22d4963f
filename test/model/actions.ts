import fc from 'fast-check'
import type { CardBehavior } from '../../src/service/rules/card-behaviors.ts'
import { cardBehaviors } from '../../tools/subscriptions.ts'
import { lastFourByToken } from './banks.ts'

type By = 'agent' | 'party'

/** An action of a party. The number `pick` selects an existing record, usually one whose state allows the action. */
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
  | { type: 'link'; by: By; token: keyof typeof lastFourByToken }
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
  | { type: 'act'; pick: number; action: DelegatedAction }

interface Amounts {
  pick: number
  amount: number
  method: 'standard' | 'instant' | 'wire'
}

/** An action that an agent can carry out for a customer. */
export type DelegatedAction = Action & { type: keyof typeof neededPermissions }
/**
 * The permission that each delegated action requires. Withdrawals require `wallets.withdraw` (see test/model/run.ts).
 */
export const neededPermissions = {
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
/** There are only three amounts, so that full, partial and excessive captures and refunds are all common. */
const smallAmount = fc.constantFrom(100, 200, 300)
const from = <T extends string>(...types: T[]) => fc.constantFrom(...types)

const reading = ['payments.read', 'wallets.read']
const everything = [...reading, 'payments.create']
const banking = [...everything, 'wallets.deposit', 'wallets.withdraw', 'external_accounts.create']

const purchases = [
  { weight: 4, arbitrary: fc.record({ type: from('issue'), maximum: fc.constantFrom(200, 450, 900) }) },
  { weight: 6, arbitrary: fc.record({ type: from('authorize'), pick, amount: smallAmount }) },
  { weight: 6, arbitrary: fc.record({ type: from('capture', 'refund'), pick, amount: smallAmount }) },
  { weight: 2, arbitrary: fc.record({ type: from('reverse', 'expire'), pick }) },
]

const payments = (amount: fc.Arbitrary<number>, by: fc.Arbitrary<By>) => [
  { weight: 1, arbitrary: fc.record({ type: from('fund'), by, amount }) },
  {
    weight: 7,
    arbitrary: fc.record({
      type: from('pay'),
      by,
      amount,
      to: fc.constantFrom<(Action & { type: 'pay' })['to'][]>('partner', 'partner', 'bank', 0, 1, 2),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: from('cancel', 'claim', 'approve', 'deny'), pick }) },
  // The longer periods can reach the expiry of a card (an hour), midnight, or the expiry of a checkout (a day).
  { weight: 1, arbitrary: fc.record({ type: from('pass'), minutes: fc.constantFrom(1, 61, 720, 1441) }) },
]

const day = 24 * 60

const people = [
  {
    weight: 6,
    arbitrary: fc.record({
      type: from('invite'),
      person: fc.nat({ max: 2 }),
      pick,
      permissions: fc.constantFrom<(readonly string[])[]>(banking, banking, everything, reading, ['payments.create']),
      perTransaction: fc.constantFrom(undefined, 100, 500),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ type: from('revoke', 'accept', 'accept', 'accept', 'decline', 'removeCustomer'), pick }),
  },
]

const keys = [
  { weight: 2, arbitrary: fc.record({ type: from('createAgent', 'createApiKey') }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: from('deleteAgent', 'createAgentKey', 'revokeAgentKey', 'revokeApiKey'), pick }),
  },
]

const card = fc.constantFrom<CardBehavior>(...cardBehaviors)
const billing = [
  {
    weight: 2,
    arbitrary: fc.record({
      type: from('subscribe'),
      unit: from('week', 'month'),
      count: fc.constantFrom(1, 1, 1, 2, 5, 26),
      parts: fc.constantFrom(1, 1, 2, 3, 4),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: from('checkout'), pick, card: fc.oneof(from('approves'), card) }) },
  {
    weight: 5,
    arbitrary: fc.record({ type: from('changeCard'), pick, card, ahead: fc.constantFrom(undefined, 0, 1, 2) }),
  },
  { weight: 3, arbitrary: fc.record({ type: from('markPaid'), pick, which: from('missed', 'next') }) },
  { weight: 3, arbitrary: fc.record({ type: from('resume', 'resume', 'cancelSubscription'), pick }) },
]

const requests = (amount: fc.Arbitrary<number>, by: fc.Arbitrary<By>) => [
  {
    weight: 5,
    arbitrary: fc.record({
      type: from('ask'),
      by,
      amount,
      payer: fc.constantFrom<(Action & { type: 'ask' })['payer'][]>('partner', 'partner', 'customer', 0, 1),
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: from('fulfill'), by, pick }) },
  { weight: 2, arbitrary: fc.record({ type: from('declineRequest', 'cancelRequest'), pick }) },
  { weight: 3, arbitrary: fc.record({ type: from('playPayer'), pick, answer: from('fulfill', 'fulfill', 'decline') }) },
]

const tokens = Object.keys(lastFourByToken) as (keyof typeof lastFourByToken)[]
const banks = (amount: fc.Arbitrary<number>, by: fc.Arbitrary<By>) => [
  { weight: 3, arbitrary: fc.record({ type: from('link'), by, token: fc.constantFrom(...tokens) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: from('disconnect'), pick, connection: from('login_required', 'disconnected') }),
  },
  { weight: 1, arbitrary: fc.record({ type: from('unlink'), pick }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: from('transfer'),
      by,
      kind: from('deposit', 'withdrawal'),
      pick,
      amount: amount.map((cents) => Math.max(100, cents)),
      method: from('standard', 'instant', 'wire'),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: from('playBank'), pick, outcome: from('settle', 'fail', 'return') }) },
]

/**
 * Periods after which a declined charge is retried, a bank transfer reaches its next step, a subscription's next
 * payment is due, or a record has expired after 30 days.
 */
const days = fc.record({ type: from('pass'), minutes: fc.constantFrom(1, 3, 5, 7, 14, 31).map((count) => count * day) })

const anyAmount = fc.oneof(fc.integer({ min: 1, max: 900 }), fc.integer({ min: 20_000, max: 60_000 }))
/** Amounts below, at and above the limits that tests set for one transaction. */
const edges = fc.constantFrom(1, 50, 100, 100, 101, 300, 900)
const anyActor = from('agent', 'party')
const mostlyAgent = from('agent', 'agent', 'agent', 'party')

type Weighted = fc.WeightedArbitrary<Action>

/**
 * Turns the given actions into actions that an agent carries out for a customer. Omits actions that are not in
 * `neededPermissions`.
 */
function forCustomers(...all: Weighted[]): Weighted {
  const action = fc.oneof(...all).filter((one): one is DelegatedAction => one.type in neededPermissions)
  return { weight: 40, arbitrary: fc.record({ type: from('act'), pick, action }) }
}

/** Any action of a party. */
export const anyAction: fc.Arbitrary<Action> = fc.oneof(
  ...purchases,
  ...payments(anyAmount, anyActor),
  ...billing,
  ...requests(anyAmount, anyActor),
  ...banks(anyAmount, anyActor),
  ...people,
  ...keys,
)

/** An action that moves money. Usually the agent performs it, because spending limits apply only to the agent. */
export const moneyAction: fc.Arbitrary<Action> = fc.oneof(...payments(edges, mostlyAgent))

/** A purchase or payment of an agent. The same limits apply to both. */
export const spendingAction: fc.Arbitrary<Action> = fc.oneof(
  ...purchases,
  ...payments(fc.constantFrom(1, 100, 250, 400, 401), from('agent')),
)

/**
 * The kinds of histories. A history begins with the actions in `first` and continues with random values of `action`.
 */
export const histories: Readonly<Record<string, { first: Action[]; action: fc.Arbitrary<Action> }>> = {
  'payment requests': {
    first: [],
    action: fc.oneof(...requests(edges, mostlyAgent), ...payments(edges, mostlyAgent)),
  },
  'bank transfers': {
    first: [],
    action: fc.oneof(...banks(edges, mostlyAgent), ...payments(edges, mostlyAgent), { weight: 3, arbitrary: days }),
  },
  subscriptions: {
    first: [
      { type: 'subscribe', unit: 'week', count: 1, parts: 1 },
      { type: 'checkout', pick: 1, card: 'approves' },
      { type: 'subscribe', unit: 'month', count: 1, parts: 4 },
      { type: 'checkout', pick: 1, card: 'declines_once' },
      { type: 'checkout', pick: 1, card: 'declines_once' },
    ],
    action: fc.oneof(...billing, { weight: 6, arbitrary: days }),
  },
  customers: {
    first: [
      { type: 'invite', person: 0, pick: 1, permissions: banking, perTransaction: 100 },
      { type: 'accept', pick: 1 },
      { type: 'act', pick: 1, action: { type: 'fund', by: 'agent', amount: 2000 } },
      { type: 'act', pick: 1, action: { type: 'link', by: 'agent', token: 'accounts' } },
    ],
    action: fc.oneof(
      ...people,
      { weight: 1, arbitrary: days },
      forCustomers(
        { weight: 2, arbitrary: fc.record({ type: from('fund'), by: from('agent'), amount: fc.constant(2000) }) },
        ...payments(edges, from('agent')),
        ...requests(edges, from('agent')),
        ...banks(edges, from('agent')),
        ...billing,
      ),
      { weight: 8, arbitrary: fc.oneof(...requests(edges, mostlyAgent)) },
    ),
  },
}
