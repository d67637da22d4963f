import { agentCards } from '../../../tools/agent-cards.ts'
import { approvals } from '../../../tools/approvals.ts'
import { cardTransactions } from '../../../tools/card-transactions.ts'
import { subscriptions } from '../../../tools/subscriptions.ts'
import { transactions } from '../../../tools/transactions.ts'
import type { OperationDefinition } from '../../core/operation.ts'

/** A kind of resource that is read, listed and watched by its address, `payments://{kind}/{id}`. */
export interface ResourceKind {
  title: string
  /** The attributes that tell one from another: an amount, and somebody's text. */
  told: { amount: readonly string[]; text: readonly string[] }
  read: OperationDefinition
  /** The parameter of `read` that the id is. */
  id: string
  list: OperationDefinition
}

export const resourceKinds = {
  'agent-cards': {
    title: 'Card',
    told: { amount: ['maximumAmount'], text: ['merchant', 'name'] },
    read: agentCards.getAgentCard,
    id: 'cardId',
    list: agentCards.listAgentCards,
  },
  'card-transactions': {
    title: 'Card transaction',
    told: { amount: ['amount'], text: ['merchant', 'name'] },
    read: cardTransactions.getCardTransaction,
    id: 'cardTransactionId',
    list: cardTransactions.listCardTransactions,
  },
  transactions: {
    title: 'Transaction',
    told: { amount: ['amount'], text: ['description'] },
    read: transactions.getTransaction,
    id: 'transactionId',
    list: transactions.listTransactions,
  },
  subscriptions: {
    title: 'Subscription',
    told: { amount: ['terms', 'amount'], text: ['terms', 'description'] },
    read: subscriptions.getSubscription,
    id: 'subscriptionId',
    list: subscriptions.listSubscriptions,
  },
  approvals: {
    title: 'Approval',
    told: { amount: ['payment', 'amount'], text: ['customer', 'name'] },
    read: approvals.getApproval,
    id: 'approvalId',
    list: approvals.listApprovals,
  },
} as const satisfies Record<string, ResourceKind>

export const kindEntries: readonly (readonly [string, ResourceKind])[] = Object.entries(resourceKinds)

/** A customer's resource is another than one's own with the same id would be: its address names the customer. */
export function addressOf(kind: string, id: string, customerPartyId?: unknown): string {
  const query = typeof customerPartyId === 'string' ? `?customerPartyId=${encodeURIComponent(customerPartyId)}` : ''
  return `payments://${kind}/${encodeURIComponent(id)}${query}`
}

/** The address of a record by its id, where it is one that a host can watch. */
export function watchable(id: string, customerPartyId?: unknown): string[] {
  const kind = kindEntries.find(([, { read, id: name }]) => read.params?.shape[name]?.safeParse(id).success)
  return kind === undefined ? [] : [addressOf(kind[0], id, customerPartyId)]
}

export const templateOf = (kind: string) => `payments://${kind}/{id}{?customerPartyId}`

/** The instance of a run is no id of the service's: it may hold any printable character. */
export const activityTemplate = 'payments://activity/{instanceId}'

interface ParsedAddress {
  kind: string
  id: string
  customerPartyId: string | undefined
}

/** The parts of an address; undefined when it is none of these. */
export function parseAddress(text: string): ParsedAddress | undefined {
  const [, kind, path, customer] =
    /^payments:\/\/([a-z-]+)\/([^/?#]+)(?:\?customerPartyId=([\w%-]+))?$/.exec(text) ?? []
  const id = path === undefined ? undefined : decoded(path)
  if (kind === undefined || id === undefined) return undefined
  return { kind, id, customerPartyId: customer === undefined ? undefined : decoded(customer) }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not the percent-encoding of anything: not an address of ours.
    return undefined
  }
}
