import type { Catalogue, OperationKey } from '../../tools/index.ts'

export type Tool = Catalogue[OperationKey]['name']

/** Whose wallet pays: the agent's own party, or the connected customer it acts for. */
export type PartyName = 'own' | 'customer'

/**
 * One tool call of one simulated agent. It names what it acts on (`card-3`, `purchase-7`) instead of ids, so that it
 * means the same in every run, and still does when actions before it are left out. Amounts in cents.
 */
export interface Action {
  /** The action's number in the whole history, from 1. */
  step: number
  /** The connection that makes the call, from 1. */
  agent: number
  tool: Tool
  party: PartyName
  /** The card or card transaction acted on. */
  subject?: string
  merchant?: string
  maximum?: number
  /** How long the card lives. */
  minutes?: number
  amount?: number
  /** How many seconds the sandbox clock is moved by. */
  seconds?: number
  /** The idempotency key the caller chose; without one the MCP server makes one. */
  key?: string
  /** The name that what the call creates gets. */
  makes?: string
}

/**
 * The merchant whose authorizations are accepted first and resolved when repeated, which the MCP server does by itself.
 */
export const unresolvedMerchant = 'Sandbox Unresolved'

/** Which argument of a tool the subject is. */
const subjectArguments: Partial<Record<Tool, string>> = {
  get_agent_card: 'cardId',
  get_agent_card_details: 'cardId',
  list_card_transactions: 'cardId',
  simulate_card_authorization: 'cardId',
  get_card_transaction: 'cardTransactionId',
  simulate_card_capture: 'cardTransactionId',
  simulate_card_reversal: 'cardTransactionId',
  simulate_card_expiration: 'cardTransactionId',
  simulate_card_refund: 'cardTransactionId',
}

export interface ArgumentSources {
  idOf: (name: string) => string
  customerPartyId: string | undefined
  /** The prefix of every key, so that a later run on the same database does not replay this run's answers. */
  keyPrefix: string
}

/** The arguments of the tool call. */
export function argumentsOf(action: Action, { idOf, customerPartyId, keyPrefix }: ArgumentSources) {
  const { tool, subject, merchant, maximum, minutes, amount, seconds, key } = action
  const money = amount !== undefined || maximum !== undefined
  return defined({
    [subjectArguments[tool] ?? '']: subject === undefined ? undefined : idOf(subject),
    merchant: merchant === undefined ? undefined : { name: merchant },
    maximumAmount: maximum,
    currency: money ? 'USD' : undefined,
    expiresInMinutes: minutes,
    amount,
    seconds,
    limit: tool.startsWith('list_') ? 100 : undefined,
    customerPartyId: action.party === 'customer' ? customerPartyId : undefined,
    idempotencyKey: key === undefined ? undefined : keyPrefix + key,
  })
}

/** What makes two requests the same for an idempotency key (docs/service.md#idempotency-conflict). */
export function sameRequest(one: Action, other: Action): boolean {
  const request = ({ tool, party, subject, merchant, maximum, minutes, amount }: Action) =>
    JSON.stringify([tool, party, subject, merchant, maximum, minutes, amount])
  return request(one) === request(other)
}

/** `agent-2 simulate_card_capture purchase-7 amount=500 key=key-3`, for people. */
export function describeAction(action: Action): string {
  const { agent, tool, party, subject, makes: _, step: __, ...rest } = action
  const details = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return [`agent-${agent}`, tool, subject, party === 'customer' ? 'for the customer' : undefined, ...details]
    .filter((word) => word !== undefined)
    .join(' ')
}

function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
