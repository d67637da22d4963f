import type { Action, PartyName } from '../action.ts'
import type { Facts, TransactionFacts } from '../facts.ts'

export interface Balance {
  available: number
  total: number
}

/** The initial balances. `customer` is undefined if no customer is connected to the agent. */
export interface Start {
  own: Balance
  customer: Balance | undefined
}

export interface ModelCard {
  name: string
  party: PartyName
  merchant: string
  maximum: number
  minutes: number
  expiresAtMs: number
  used: boolean
  frozen: boolean
  transactions: ModelTransaction[]
}

export interface ModelTransaction extends Omit<TransactionFacts, 'type' | 'wallet' | 'holdHours' | 'currency'> {
  party: PartyName
  holdExpiresAtMs: number | null
}

export interface State {
  /** The model's time, in milliseconds since the start of the run. */
  nowMs: number
  wallets: Record<PartyName, Balance>
  cards: Map<string, ModelCard>
  transactions: Map<string, ModelTransaction>
  /** The authorized purchases whose hold has not ended. */
  onHold: Set<ModelTransaction>
  idempotencyRecords: Map<string, { action: Action; facts: Facts; finishedAtMs: number }>
  /**
   * Whether the order of calls is known. If the order is unknown, the balances of shared wallets cannot be predicted.
   */
  ordered: boolean
}

export type Rule = (state: State, action: Action) => Facts

export function createdName({ makes, tool }: Action): string {
  if (makes === undefined) throw new Error(`Bug: ${tool} has no name for the record that it creates.`)
  return makes
}

export function refusalFacts(code: string, status: number, pointer: string | null = null): Facts {
  return { type: 'error', code, status, pointer }
}

export const conflict = refusalFacts('conflict', 409)
export const notFound = refusalFacts('not_found', 404)
/** Returns the error for an invalid attribute (docs/service.md#400-or-422). */
export const wrongValue = (field: string) => refusalFacts('invalid_value', 422, `/data/attributes/${field}`)

/** Returns a page of records, sorted by name because the reader also sorts the service's pages by name. */
export function pageOf(items: Facts[]): Facts {
  const nameOf = (facts: Facts) => ('name' in facts ? facts.name : '')
  return { type: 'page', items: items.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)) }
}
