import type { Catalogue, OperationKey } from '../../tools/index.ts'

export type Tool = Catalogue[OperationKey]['name']

/** The party that a call acts for: the agent's own party, or the connected customer. */
export type PartyName = 'own' | 'customer'

/**
 * One tool call of one simulated agent. An action refers to records by names (`card-3`, `purchase-7`) instead of ids.
 * It therefore means the same in every run, even in a run that leaves out earlier actions. Amounts are in cents.
 */
export interface Action {
  /** The action's number in the history (the planned actions of all agents), from 1. */
  step: number
  /** The number of the agent that makes the call, from 1. */
  agent: number
  tool: Tool
  /** The party that the call acts for. For `customer`, the call has the argument `customerPartyId`. */
  party: PartyName
  /** The name of the record that the call reads or changes. */
  subject?: string
  merchant?: string
  maximum?: number
  /** The lifetime of the card that the call issues, in minutes. */
  minutes?: number
  amount?: number
  /** How many seconds the call moves the sandbox clock forward. */
  seconds?: number
  /** The idempotency key that the agent chose. If it is absent, the MCP server generates a key. */
  key?: string
  /** The name of the record that the call creates. */
  makes?: string
}

/**
 * The merchant at which an authorization has no result at first. The MCP server automatically repeats the call, and
 * then receives the result.
 */
export const unresolvedMerchant = 'Sandbox Unresolved'

/** For each tool, the name of the argument that takes the id of the action's subject. */
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
  /**
   * The prefix of every idempotency key. Each run has its own prefix, so that no run gets an answer that was recorded
   * in an earlier run.
   */
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

/**
 * Returns whether two actions send the same request. Only then can both use the same idempotency key without a
 * conflict.
 */
export function sameRequest(one: Action, other: Action): boolean {
  const request = ({ step: _, agent: __, makes: ___, key: ____, ...sent }: Action) =>
    JSON.stringify(Object.entries(sent).sort(([a], [b]) => (a < b ? -1 : 1)))
  return request(one) === request(other)
}

/** Returns the names of the records that the action reads, changes or creates, and its idempotency key. */
export function namesIn({ subject, makes, key }: Action): string[] {
  return [subject, makes, key].filter((name) => name !== undefined)
}

/** Describes the action in one line, such as `agent-2 simulate_card_capture purchase-7 amount=500 key=key-3`. */
export function describeAction(action: Action): string {
  const { agent, tool, party, subject, makes: _, step: __, ...rest } = action
  const details = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  const onBehalf = party === 'own' ? undefined : 'for the customer'
  return [`agent-${agent}`, tool, subject, onBehalf, ...details].filter((word) => word !== undefined).join(' ')
}

function definedValues(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
