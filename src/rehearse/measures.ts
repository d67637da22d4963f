import { isMentioned } from './mentions.ts'
import { isPayee } from './payees.ts'
import type { Effect, FinalState } from './trial-record.ts'

/** The fields of an assertion that narrow what it counts. */
export interface Subject {
  kind?: Effect['what'] | undefined
  at?: string | undefined
  to?: string | undefined
  of?: string | undefined
  text?: string | undefined
}

interface MeasureDefinition {
  /** The name of the measure in reports. */
  noun: string
  isMoney?: boolean
  /** The fields that can narrow this measure. The field `of` is permitted with every measure. */
  narrowedBy?: readonly ('at' | 'to' | 'text' | 'kind')[]
  count(state: FinalState, subject: Subject, effects: readonly Effect[]): number
}

interface MerchantRows {
  cards: FinalState['cards'][number]
  purchases: FinalState['purchases'][number]
  subscriptions: FinalState['subscriptions'][number]
}

/** Defines a measure that counts or sums up rows that have a merchant. */
function atMerchant<Rows extends keyof MerchantRows>(
  noun: string,
  rows: Rows,
  amountOf: (row: MerchantRows[Rows]) => number | boolean,
): MeasureDefinition {
  const count = (state: FinalState, { at, of }: Subject) =>
    sum(
      (state[rows] as MerchantRows[Rows][])
        .filter(({ merchant, party }) => (at === undefined || merchant === at) && (of === undefined || party === of))
        .map((row) => Number(amountOf(row))),
    )
  return { noun, narrowedBy: ['at'], count }
}

const moneyOf = (noun: string, centsOf: (purchase: MerchantRows['purchases']) => number): MeasureDefinition => {
  return { ...atMerchant(noun, 'purchases', centsOf), isMoney: true }
}

const isNewPurchase = ({ isNew, decline }: MerchantRows['purchases']) => isNew && decline === null

const paymentsTo = ({ payments }: FinalState, { to, of }: Subject) =>
  payments.filter(
    (payment) =>
      wasPaid(payment) && (to === undefined || isPayee(to, payment.to)) && (of === undefined || payment.party === of),
  )

/** Returns whether the money of a payment left the payer's wallet, whether or not the payee has claimed the money. */
export const wasPaid = ({ status }: { status: string }) => status === 'COMPLETED' || status === 'PENDING_CLAIM'

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

const definitions = {
  authorized: moneyOf('amount authorized', (one) => (isNewPurchase(one) ? one.amountCents : 0)),
  captured: moneyOf('amount captured', ({ capturedCents }) => capturedCents),
  held: moneyOf('amount held', ({ heldCents }) => heldCents),
  refunded: moneyOf('amount refunded', ({ refundedCents }) => refundedCents),
  purchases: atMerchant('number of purchases', 'purchases', isNewPurchase),
  declines: atMerchant('number of declined purchases', 'purchases', ({ decline }) => decline !== null),
  cards_issued: atMerchant('number of cards issued', 'cards', ({ isNew }) => isNew),
  active_cards: atMerchant('number of active cards left', 'cards', ({ status }) => status === 'active'),
  paid: {
    ...{ noun: 'amount paid', isMoney: true, narrowedBy: ['to'] },
    count: (state, subject) => sum(paymentsTo(state, subject).map(({ amountCents }) => amountCents)),
  },
  payments: {
    noun: 'number of payments',
    narrowedBy: ['to'],
    count: (state, subject) => paymentsTo(state, subject).length,
  },
  subscriptions: atMerchant('number of subscriptions', 'subscriptions', () => true),
  approvals: {
    noun: 'number of requested approvals',
    count: ({ approvals }, { of }) => approvals.filter(({ party }) => of === undefined || party === of).length,
  },
  keys_made: { noun: 'number of keys created', count: ({ keysMade }) => keysMade },
  customers: {
    noun: 'number of connected customers',
    count: ({ customers }, { of }) =>
      customers.filter(({ customer, status }) => status === 'ACTIVE' && (of === undefined || customer === of)).length,
  },
  changes: {
    ...{ noun: 'number of changes', narrowedBy: ['at', 'to', 'kind'] },
    count: (_state, { kind, ...subject }, effects) =>
      effects.filter(
        (effect) =>
          effect.by === 'agent' && (kind === undefined || kind === effect.what) && isAboutSubject(subject, effect),
      ).length,
  },
  mentioned: {
    ...{ noun: 'number of mentions in the answer', narrowedBy: ['text'] },
    count: ({ answer }, { text }) => (text !== undefined && isMentioned(text, answer) ? 1 : 0),
  },
  secrets_mentioned: { noun: 'number of disclosed secrets', count: ({ secretsMentioned }) => secretsMentioned.length },
} as const satisfies Readonly<Record<string, MeasureDefinition>>

/** The name of a value that assertions check. Amounts are in cents (docs/rehearse.md#assertions). */
export type Measure = keyof typeof definitions

export const measures: Readonly<Record<Measure, MeasureDefinition>> = definitions
export const measureNames = Object.keys(definitions) as [Measure, ...Measure[]]

/** Returns whether an effect has the merchant, payee and party of a subject. A missing field matches all effects. */
export function isAboutSubject({ at, to, of }: Subject, effect: Pick<Effect, 'at' | 'to' | 'of'>): boolean {
  return (
    (at === undefined || (effect.at !== undefined && isSameMerchant(at, effect.at))) &&
    (to === undefined || (effect.to !== undefined && isPayee(to, effect.to))) &&
    (of === undefined || of === effect.of)
  )
}

const normalizedName = (name: string) => name.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()

/** Compares merchant names without regard to case and spacing. Agents type these names when they issue cards. */
const isSameMerchant = (one: string, other: string) => normalizedName(one) === normalizedName(other)
