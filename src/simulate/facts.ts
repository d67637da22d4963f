import { maskSecrets } from '../core/masking.ts'
import type { Action } from './action.ts'

/**
 * An answer in a form that is the same in every run: names instead of ids, durations instead of times. The model
 * predicts facts, and the reader extracts them from the service's answer. Predicted and extracted facts must be equal.
 */
export type Facts = ErrorFacts | CardFacts | DetailsFacts | TransactionFacts | WalletFacts | PageFacts | ClockFacts

interface ErrorFacts {
  type: 'error'
  code: string
  status: number
  pointer: string | null
}

export interface CardFacts {
  type: 'agentCard'
  name: string
  status: 'active' | 'frozen' | 'used' | 'expired'
  merchant: string
  maximum: number
  currency: string
  /** Minutes from creation to expiry. */
  minutes: number
  wallet: string
}

/** Facts about a card number. They never include the number itself, because facts are logged. */
interface DetailsFacts {
  type: 'agentCardDetails'
  name: string
  /**
   * Whether the number equals the first card number read in the run (all sandbox cards have the same number), and has
   * 12 to 19 digits and a valid check digit.
   */
  validNumber: boolean
  validCvv: boolean
  /** Whether the month and year match the card's expiry time. */
  validExpiration: boolean
}

export interface TransactionFacts {
  type: 'cardTransaction'
  name: string
  kind: 'purchase' | 'refund'
  status: 'authorized' | 'declined' | 'captured' | 'partially_captured' | 'reversed' | 'refunded'
  amount: number
  currency: string
  merchant: string
  held: number
  captured: number
  refunded: number
  decline: string | null
  /** Hours from creation to the end of the hold; null if no money is on hold. */
  holdHours: number | null
  card: string
  /** The name of the refunded purchase. */
  purchase: string | null
  wallet: string
}

export interface WalletFacts {
  type: 'wallet'
  name: string
  /** The balances; absent if the order of calls is unknown, because the model can then predict only `sound`. */
  available?: number
  total?: number
  /** Whether `0 ≤ available ≤ total`. */
  sound: boolean
}

interface PageFacts {
  type: 'page'
  /** The records, sorted by name. The service does not define the order of records created in the same millisecond. */
  items: Facts[]
}

interface ClockFacts {
  type: 'clock'
  /** How far the sandbox clock was moved forward since it was last read, not counting the real time that passed. */
  advancedSeconds: number
}

/**
 * The unit of clock jumps. Measured jumps are rounded down to whole units, in order to remove the real time that
 * passed.
 */
export const clockStepSeconds = 30 * 60

/** The first disagreement between the service and the model. */
export interface Mismatch {
  /** The action that failed; undefined if the mismatch was found before the first action or by the final check. */
  action: Action | undefined
  /** An explanation; empty if `expected` and `actual` alone show the mismatch. */
  what: string
  expected: string
  actual: string
  /** The names of the affected records, if the action does not mention them. */
  about: string[]
}

/** Returns whether two answers are equal. */
export function equalFacts(one: Facts, other: Facts): boolean {
  return canonical(one) === canonical(other)
}

/**
 * Masks the secrets in facts. For use with facts that the model did not predict, because these may contain any string.
 */
export function maskFacts<Some extends Facts>(facts: Some): Some {
  return JSON.parse(JSON.stringify(facts), (_, value) => (typeof value === 'string' ? maskSecrets(value) : value))
}

/** Describes facts in one line. */
export function describeFacts(facts: Facts): string {
  const { type, ...rest } = facts
  if (facts.type === 'page') return `page of ${facts.items.length}: ${facts.items.map(describeFacts).join('; ')}`
  const details = Object.entries(rest).filter(([, value]) => value !== null && value !== 0)
  return `${type} ${details.map(([name, value]) => `${name}=${value}`).join(' ')}`
}

/** Returns the label under which the report counts an answer. */
export function outcomeOf(facts: Facts): string {
  if (facts.type === 'error') return facts.code
  if (facts.type === 'cardTransaction') return facts.decline === null ? facts.status : `declined: ${facts.decline}`
  return 'ok'
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
