import type { Catalogue, OperationKey } from '../../tools/index.ts'

export type Tool = Catalogue[OperationKey]['name']

/**
 * Whom a call acts for: the agent's own party, the connected customer there is, or one that the run made up and
 * invited, which only the agent that invited it acts for.
 */
export type PartyName = 'own' | 'customer' | `customer-${number}`

export function isInvited(name: string): name is `customer-${number}` {
  return /^customer-\d/.test(name)
}

export type Unit = 'week' | 'month' | 'year'

/** The payer's cards of the sandbox (docs/sandbox.md#subscriptions-on-the-sandbox-clock). */
export type CardBehavior =
  | 'approves'
  | 'declines_once'
  | 'declines'
  | 'blocked'
  | 'needs_update'
  | 'removed'
  | 'processor_error'
  | 'agreement_fails'

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
  /** Whose party the call names as `customerPartyId`; `own` where it names none. */
  party: PartyName
  /** The record acted on. */
  subject?: string
  merchant?: string
  maximum?: number
  /** How long the card lives, or the checkout stays open. */
  minutes?: number
  amount?: number
  /** Who is paid, or claims; somebody unknown has a name of the run too. */
  payee?: string
  /** The bank account that money is drawn from or paid to. */
  account?: string
  /** How a withdrawal goes. */
  method?: 'standard' | 'instant' | 'wire'
  /** What a person chose at the test bank: a processor token's name. */
  token?: string
  /** What a bank does instead of going on as before. */
  connection?: 'login_required' | 'disconnected'
  /** How the payee is named. */
  by?: 'party_id' | 'agent_id' | 'handle' | 'email'
  /** The interval of a subscription. */
  unit?: Unit
  count?: number
  /** What a subscription costs in so many parts. */
  total?: number
  parts?: number
  tax?: number
  /** How the payer's card behaves, from which payment on. */
  card?: CardBehavior
  /** A payment of a subscription. */
  number?: number
  /** Who is invited, and made up for that where the run does not have them yet. */
  invites?: `customer-${number}`
  permissions?: readonly string[]
  /** The most that the invited one would let a transaction be. */
  limit?: number
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
  freeze_agent_card: 'cardId',
  unfreeze_agent_card: 'cardId',
  list_card_transactions: 'cardId',
  simulate_card_authorization: 'cardId',
  get_card_transaction: 'cardTransactionId',
  simulate_card_capture: 'cardTransactionId',
  simulate_card_reversal: 'cardTransactionId',
  simulate_card_expiration: 'cardTransactionId',
  simulate_card_refund: 'cardTransactionId',
  get_payment: 'paymentId',
  cancel_payment: 'paymentId',
  simulate_payment_claim: 'paymentId',
  fund_sandbox_wallet: 'customerId',
  get_transfer: 'transferId',
  simulate_transfer_settlement: 'transferId',
  simulate_transfer_failure: 'transferId',
  simulate_transfer_return: 'transferId',
  get_external_account: 'externalAccountId',
  simulate_bank_account_disconnection: 'externalAccountId',
  get_payment_request: 'paymentRequestId',
  fulfill_payment_request: 'paymentRequestId',
  decline_payment_request: 'paymentRequestId',
  cancel_payment_request: 'paymentRequestId',
  simulate_payment_request_fulfillment: 'paymentRequestId',
  simulate_payment_request_decline: 'paymentRequestId',
  get_approval: 'approvalId',
  approve_approval: 'approvalId',
  deny_approval: 'approvalId',
  simulate_customer_approval: 'approvalId',
  simulate_customer_denial: 'approvalId',
  get_subscription: 'subscriptionId',
  list_subscription_payments: 'subscriptionId',
  cancel_subscription: 'subscriptionId',
  resume_subscription: 'subscriptionId',
  mark_subscription_payment_paid: 'subscriptionId',
  simulate_subscription_checkout: 'subscriptionId',
  simulate_subscription_card: 'subscriptionId',
  simulate_invitation_acceptance: 'invitationId',
  simulate_invitation_decline: 'invitationId',
  revoke_customer_invitation: 'invitationId',
  revoke_agent_invitation: 'invitationId',
  get_customer: 'customerId',
  simulate_agent_revocation: 'customerId',
}

/** The names of what a run finds besides records: ids that arguments need. */
export const agentName = 'agent'
export const handleName = (party: string) => `handle of ${party}`
export const walletName = (party: PartyName) => `${party}-wallet`
/** A bank account of a party by its last four digits, by which the test bank's accounts differ. */
export const accountName = (party: PartyName, lastFour: string) => `account-${lastFour}-of-${party}`

export interface ArgumentSources {
  idOf: (name: string) => string
  /** The prefix of every key, so that a later run on the same database does not replay this run's answers. */
  keyPrefix: string
}

/** The arguments of the tool call. */
export function argumentsOf(action: Action, sources: ArgumentSources): Record<string, unknown> {
  const { tool, party, subject, merchant, maximum, minutes, amount, seconds, key } = action
  const { idOf, keyPrefix } = sources
  const money = amount !== undefined || maximum !== undefined
  return defined({
    [subjectArguments[tool] ?? '']: subject === undefined ? undefined : idOf(subject),
    merchant: merchant === undefined ? undefined : { name: merchant },
    maximumAmount: maximum,
    currency: money && tool !== 'create_subscription' ? 'USD' : undefined,
    expiresInMinutes: minutes,
    amount,
    seconds,
    limit: tool.startsWith('list_') ? 100 : undefined,
    ...ofPayment(action, sources),
    ...ofBank(action, sources),
    ...ofSubscription(action),
    ...ofCustomer(action, sources),
    customerPartyId: party === 'own' ? undefined : idOf(party),
    idempotencyKey: key === undefined ? undefined : keyPrefix + key,
  })
}

function ofPayment(action: Action, { idOf, keyPrefix }: ArgumentSources) {
  const { tool, payee, by = 'party_id', party, account } = action
  if (tool === 'fulfill_payment_request') {
    const wallet = { type: 'wallet', walletId: account === undefined ? idOf(walletName(party)) : '' }
    const bank = { type: 'external_account', externalAccountId: account === undefined ? '' : idOf(account) }
    return { paymentSource: account === undefined ? wallet : bank }
  }
  if ((tool !== 'create_payment' && tool !== 'create_payment_request') || payee === undefined) return {}
  const values = {
    party_id: () => idOf(payee),
    agent_id: () => idOf(agentName),
    handle: () => idOf(handleName(payee)),
    email: () => `${keyPrefix}${payee}@people.example`,
  }
  const named = { type: by, value: values[by]() }
  return tool === 'create_payment' ? { counterparty: named } : { payer: named }
}

function ofBank({ tool, account, method, token, connection }: Action, { idOf }: ArgumentSources) {
  const moves = tool === 'create_deposit' || tool === 'create_withdrawal'
  return {
    ...(moves && account !== undefined ? { externalAccountId: idOf(account) } : {}),
    method,
    processorToken: token === undefined ? undefined : `processor-sandbox-${token}`,
    connectionStatus: connection,
  }
}

function ofSubscription({ tool, unit, count, total, parts, tax, card, number }: Action) {
  if (tool === 'simulate_subscription_card') return { behavior: card, fromPaymentNumber: number }
  return {
    description: tool === 'create_subscription' ? 'Support' : undefined,
    every: unit === undefined ? undefined : { unit, count },
    totalAmount: total,
    paymentCount: parts,
    taxAmount: tax,
    card,
    paymentNumber: number,
  }
}

function ofCustomer({ tool, invites, permissions, limit }: Action, { idOf }: ArgumentSources) {
  if (tool === 'simulate_customer_invitation') return { agentIds: [idOf(agentName)], permissions }
  if (tool === 'simulate_agent_revocation') return { agentId: idOf(agentName) }
  if (tool !== 'create_agent_customer_invitation' || invites === undefined) return {}
  return {
    agentId: idOf(agentName),
    recipients: [{ type: 'party_id', value: idOf(invites) }],
    permissions,
    limits: limit === undefined ? undefined : { perTransaction: limit },
  }
}

/** What makes two requests the same for an idempotency key (docs/service.md#idempotency-conflict). */
export function sameRequest(one: Action, other: Action): boolean {
  const request = ({ step: _, agent: __, makes: ___, key: ____, ...sent }: Action) =>
    JSON.stringify(Object.entries(sent).sort(([a], [b]) => (a < b ? -1 : 1)))
  return request(one) === request(other)
}

/** What the action is about: records of the run, parties that it made up, and its key. */
export function namesIn({ subject, makes, key, party, payee, invites, account, token }: Action): string[] {
  const parties = [party, payee, invites].filter((name) => name !== undefined && isInvited(name))
  // Whatever links the party's bank accounts is about each of them.
  const banks = account === undefined && token === undefined ? undefined : `bank of ${party}`
  const named = [subject, makes, key, banks].filter((name) => name !== undefined)
  return [...named, ...parties].map((name) => reviewedOf(name ?? ''))
}

/** An approval is that of the payment or transfer with its number. */
export const approvalOf = (name: string) =>
  name.replace(/^payment-/, 'approval-').replace(/^transfer-/, 'transferApproval-')
const reviewedOf = (name: string) => name.replace(/^approval-/, 'payment-').replace(/^transferApproval-/, 'transfer-')

/** `agent-2 simulate_card_capture purchase-7 amount=500 key=key-3`, for people. */
export function describeAction(action: Action): string {
  const { agent, tool, party, subject, makes: _, step: __, ...rest } = action
  const details = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return [
    `agent-${agent}`,
    tool,
    subject,
    party === 'own' ? undefined : `for ${party === 'customer' ? 'the customer' : party}`,
    ...details,
  ]
    .filter((word) => word !== undefined)
    .join(' ')
}

function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
