import { agentCards } from '../../../tools/agent-cards.ts'
import { approvals } from '../../../tools/approvals.ts'
import { cardTransactions } from '../../../tools/card-transactions.ts'
import { subscriptions } from '../../../tools/subscriptions.ts'
import { transactions } from '../../../tools/transactions.ts'
import type { OperationDefinition } from '../../core/operation.ts'

/** A kind of resource that a host can read, list and watch by its address, `payments://{kind}/{id}`. */
export interface ResourceKind {
  title: string
  /** The paths of the attributes that appear in the title of a listed resource: an amount and a free text. */
  titleFields: { amount: readonly string[]; text: readonly string[] }
  read: OperationDefinition
  /** The parameter of `read` that takes the id. */
  id: string
  list: OperationDefinition
}

export const resourceKinds = {
  'agent-cards': {
    title: 'Card',
    titleFields: { amount: ['maximumAmount'], text: ['merchant', 'name'] },
    read: agentCards.getAgentCard,
    id: 'cardId',
    list: agentCards.listAgentCards,
  },
  'card-transactions': {
    title: 'Card transaction',
    titleFields: { amount: ['amount'], text: ['merchant', 'name'] },
    read: cardTransactions.getCardTransaction,
    id: 'cardTransactionId',
    list: cardTransactions.listCardTransactions,
  },
  transactions: {
    title: 'Transaction',
    titleFields: { amount: ['amount'], text: ['description'] },
    read: transactions.getTransaction,
    id: 'transactionId',
    list: transactions.listTransactions,
  },
  subscriptions: {
    title: 'Subscription',
    titleFields: { amount: ['terms', 'amount'], text: ['terms', 'description'] },
    read: subscriptions.getSubscription,
    id: 'subscriptionId',
    list: subscriptions.listSubscriptions,
  },
  approvals: {
    title: 'Approval',
    titleFields: { amount: ['payment', 'amount'], text: ['customer', 'name'] },
    read: approvals.getApproval,
    id: 'approvalId',
    list: approvals.listApprovals,
  },
} as const satisfies Record<string, ResourceKind>

export const kindEntries: readonly (readonly [string, ResourceKind])[] = Object.entries(resourceKinds)

/**
 * Builds a resource's address. It names the customer, if any, because a resource of the caller may have the same id.
 */
export function addressOf(kind: string, id: string, customerPartyId?: unknown): string {
  const query = typeof customerPartyId === 'string' ? `?customerPartyId=${encodeURIComponent(customerPartyId)}` : ''
  return `payments://${kind}/${encodeURIComponent(id)}${query}`
}

/** Returns the address of the record with this id, in an array; an empty array if hosts cannot watch such records. */
export function watchable(id: string, customerPartyId?: unknown): string[] {
  const kind = kindEntries.find(([, { read, id: name }]) => read.params?.shape[name]?.safeParse(id).success)
  return kind === undefined ? [] : [addressOf(kind[0], id, customerPartyId)]
}

export const templateOf = (kind: string) => `payments://${kind}/{id}{?customerPartyId}`

/** The address template for a run's activity. Callers choose the id, which may contain any printable character. */
export const activityTemplate = 'payments://activity/{instanceId}'

interface ParsedAddress {
  kind: string
  id: string
  customerPartyId: string | undefined
}

/** Returns the parts of a resource's address; undefined if the text does not have the form of an address. */
export function parseAddress(text: string): ParsedAddress | undefined {
  const [, kind, path, customer] =
    /^payments:\/\/([a-z-]+)\/([^/?#]+)(?:\?customerPartyId=([\w%-]+))?$/.exec(text) ?? []
  if (kind === undefined || path === undefined) return undefined
  try {
    const customerPartyId = customer === undefined ? undefined : decodeURIComponent(customer)
    return { kind, id: decodeURIComponent(path), customerPartyId }
  } catch {
    // The server did not build this address, because its own addresses always have valid percent-encoding.
    return undefined
  }
}
