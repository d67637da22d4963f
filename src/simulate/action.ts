import type { Catalogue, OperationKey } from '../../tools/index.ts'

export type Tool = Catalogue[OperationKey]['name']

/** The party that a call acts for: the agent's own, or the connected customer. */
export type PartyName = 'own' | 'customer'

/**
 * One tool call of one simulated agent. It refers to records by names (`card-3`, `purchase-7`) instead of ids, so that
 * it means the same in every run, even if earlier actions are left out. Amounts are in cents.
 */
export interface Action {
  /** The action's number in the whole history, from 1. */
  step: number
  /** The number of the connection that makes the call, from 1. */
  agent: number
  tool: Tool
  /** The party that the call acts for. For `customer`, the call has the argument `customerPartyId`. */
  party: PartyName
  /** The name of the record that the call reads or changes. */
  subject?: string
  merchant?: string
  maximum?: number
  /** The card's lifetime in minutes. */
  minutes?: number
  amount?: number
  /** How many seconds the call moves the sandbox clock forward. */
  seconds?: number
  /** The idempotency key that the agent chose; by default the MCP server generates one. */
  key?: string
  /** The name of the record that the call creates. */
  makes?: string
}

/**
 * The merchant at which an authorization has no result at first. The MCP server repeats the call automatically, and the
 * repeat returns the result.
 */
export const unresolvedMerchant = 'Sandbox Unresolved'

/** For each tool, the argument for the id of the action's subject. */
const subjectArguments: Partial<Record<Tool, string>> = {
  get_agent_card: 'cardId',
  get_agent_card_details: 'cardId',
  freeze_agent_card: 'cardId',
  unfreeze_agent_card: 'cardId',
  list_card_transactions: 'cardId',
  simulate_card_authorization: 'cardId',
  get_card_transaction: 'cardTransactionId',
  simulate_card_capture: 'cardTransactionId',
  simulate_card_reversal: 'cardTransactionId',
  simulate_card_expiration: 'cardTransactionId',
  simulate_card_refund: 'cardTransactionId',
}

export const walletName = (party: PartyName) => `${party}-wallet`

interface ArgumentSources {
  idOf: (name: string) => string
  /** The prefix of every idempotency key. Each run has its own, so that no run gets replayed answers of another run. */
  keyPrefix: string
}

/** Returns the arguments of the tool call. */
export function argumentsOf(action: Action, { idOf, keyPrefix }: ArgumentSources): Record<string, unknown> {
  const { tool, party, subject, merchant, maximum, minutes, amount, seconds, key } = action
  return definedValues({
    [subjectArguments[tool] ?? '']: subject === undefined ? undefined : idOf(subject),
    merchant: merchant === undefined ? undefined : { name: merchant },
    maximumAmount: maximum,
    currency: amount === undefined && maximum === undefined ? undefined : 'USD',
    expiresInMinutes: minutes,
    amount,
    seconds,
    limit: tool.startsWith('list_') ? 100 : undefined,
    customerPartyId: party === 'own' ? undefined : idOf(party),
    idempotencyKey: key === undefined ? undefined : keyPrefix + key,
  })
}

/** Returns whether two actions send the same request. If not, they cannot use the same idempotency key. */
export function sameRequest(one: Action, other: Action): boolean {
  const request = ({ step: _, agent: __, makes: ___, key: ____, ...sent }: Action) =>
    JSON.stringify(Object.entries(sent).sort(([a], [b]) => (a < b ? -1 : 1)))
  return request(one) === request(other)
}

/** Returns the names of the records that the action reads, changes or creates, and its idempotency key. */
export function namesIn({ subject, makes, key }: Action): string[] {
  return [subject, makes, key].filter((name) => name !== undefined)
}

/** Describes the action in one line: `agent-2 simulate_card_capture purchase-7 amount=500 key=key-3`. */
export function describeAction(action: Action): string {
  const { agent, tool, party, subject, makes: _, step: __, ...rest } = action
  const details = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  const onBehalf = party === 'own' ? undefined : 'for the customer'
  return [`agent-${agent}`, tool, subject, onBehalf, ...details].filter((word) => word !== undefined).join(' ')
}

function definedValues(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
