import type { Permission } from '../../core/permissions.ts'

/** The event types of one kind of record, with their meanings. */
interface EventKind {
  /** The type of the resource that the event is about. The event includes this resource. */
  resource: string
  /**
   * The permission needed to read the resource and therefore to read the event
   * (docs/events.md#who-may-read-which-events).
   */
  permission: Permission
  /**
   * The party's events that an agent of the party gets: `own` means events about the agent's own records, `wallets`
   * means events about records of wallets that the agent may read, and `all` means all events.
   */
  agents: 'own' | 'wallets' | 'all'
  /** The types that the published interface has. */
  published: Readonly<Record<string, string>>
  /** The types that this service adds. */
  extensions: Readonly<Record<string, string>>
}

const movedByBank = {
  created: 'The transfer was created; it may still need approval',
  completed: 'The money arrived',
  failed: 'The bank refused the transfer',
  returned: 'The bank returned the completed transfer',
  canceled: 'The transfer was canceled before money moved',
  approval_denied: 'A person denied the transfer',
} as const

/**
 * All types of events, by their first word. This table is the source of the types, of docs/events.md and of the
 * permission needed to read each event. The meaning of a type never changes, but new types may be added.
 */
export const eventKinds = {
  party: {
    resource: 'party',
    permission: 'party.read',
    agents: 'all',
    published: { updated: "The party's profile, handle, limits, members or status changed" },
    extensions: {},
  },
  compliance_case: {
    resource: 'compliance_case',
    permission: 'party.read',
    agents: 'all',
    published: { updated: 'The review of the party started, needs an action, or was decided' },
    extensions: {},
  },
  wallet: {
    resource: 'wallet',
    permission: 'wallets.read',
    agents: 'all',
    published: { created: 'A wallet was created' },
    extensions: {},
  },
  external_account: {
    resource: 'externalAccount',
    permission: 'external_accounts.read',
    agents: 'all',
    published: { connected: 'A bank account was linked, or linked again' },
    extensions: {
      disconnected: 'The bank requires a new login: link the account again',
      deleted: 'The bank account was unlinked',
    },
  },
  agent_delegation_invitation: {
    resource: 'agentDelegationInvitation',
    permission: 'customers.read',
    agents: 'own',
    published: {
      created: 'Someone was invited to become a customer',
      accepted: 'The invited person accepted',
      declined: 'The invited person declined',
      canceled: 'The invitation was withdrawn, its agent or party stopped inviting, or another invitation was accepted',
    },
    extensions: { expired: 'The invitation expired without an answer' },
  },
  agent_delegation: {
    resource: 'delegation',
    permission: 'customers.read',
    agents: 'own',
    published: { revoked: 'A customer is no longer connected to your agent' },
    extensions: {},
  },
  delegation: {
    resource: 'delegation',
    permission: 'customers.read',
    agents: 'own',
    published: {
      activated: 'You let an agent act for you',
      revoked: 'An agent may no longer act for you',
    },
    extensions: {},
  },
  deposit: {
    resource: 'transfer',
    permission: 'payments.read',
    agents: 'wallets',
    published: movedByBank,
    extensions: {},
  },
  withdrawal: {
    resource: 'transfer',
    permission: 'payments.read',
    agents: 'wallets',
    published: movedByBank,
    extensions: {},
  },
  transfer: {
    resource: 'transfer',
    permission: 'payments.read',
    agents: 'wallets',
    published: {},
    extensions: {
      created: 'Money is being moved between wallets of the party',
      completed: 'The money was moved',
      failed: 'The money was not moved',
      canceled: 'The transfer was canceled before money moved',
      approval_denied: 'A person denied the transfer',
    },
  },
  payment: {
    resource: 'payment',
    permission: 'payments.read',
    agents: 'wallets',
    published: {
      created: 'You paid someone; the payment may still need approval or a claim',
      completed: 'The money arrived; the recipient also gets this event',
      failed: 'The bank refused the payment',
      returned: 'The completed payment was returned',
      canceled: 'The payment was canceled before the money arrived',
      approval_denied: 'A person denied the payment',
    },
    extensions: { pending_claim: 'The recipient must claim the payment' },
  },
  approval: {
    resource: 'approval',
    permission: 'payments.read',
    agents: 'wallets',
    published: {
      required: 'A payment or transfer needs a decision',
      approved: 'A person approved the payment or transfer',
      denied: 'A person denied the payment or transfer',
      canceled: 'The payment or transfer was canceled',
    },
    extensions: {},
  },
  payment_request: {
    resource: 'paymentRequest',
    permission: 'payments.read',
    agents: 'wallets',
    published: {
      created: 'You asked someone for money',
      completed: 'The request was paid',
      canceled: 'The request was withdrawn',
      declined: 'The payer declined',
      incoming: 'Someone asks you for money',
    },
    extensions: {
      processing: 'The payment is in progress, at the bank or in review',
      reopened: 'The payment was denied or canceled, so the request can be paid again',
      failed: 'The payment failed at the bank',
      returned: 'The payment was returned after the request was paid',
      expired: 'The request expired unpaid',
    },
  },
  party_invitation: {
    resource: 'invitation',
    permission: 'party_invitations.read',
    agents: 'own',
    published: {},
    extensions: {
      created: 'Someone was invited to join the party',
      accepted: 'The invited person joined',
      declined: 'The invited person declined',
      revoked: 'The invitation was withdrawn',
    },
  },
  decision: {
    resource: 'decision',
    permission: 'payments.read',
    agents: 'own',
    published: {},
    extensions: {
      agreed: 'A person approved a call that was waiting for them',
      refused: 'A person refused a call that was waiting for them',
    },
  },
  agent_card: {
    resource: 'agentCard',
    permission: 'cards.read',
    agents: 'own',
    published: {},
    extensions: {
      created: 'A card was issued',
      used: "The card's one purchase was made",
      frozen: 'The card was frozen',
      unfrozen: 'The card can be used again',
      expired: 'The card expired early because its agent, wallet access or grant ended',
    },
  },
  card_transaction: {
    resource: 'cardTransaction',
    permission: 'cards.read',
    agents: 'own',
    published: {},
    extensions: {
      authorized: 'The amount is held for the merchant',
      declined: 'The purchase was declined',
      captured: 'The merchant collected the amount',
      partially_captured: 'The merchant collected part of the amount',
      reversed: 'The hold was released, and nothing was charged',
      refunded: 'The merchant refunded money, as a separate transaction',
      updated: 'Another field changed, such as the refunded amount',
    },
  },
  subscription: {
    resource: 'subscription',
    permission: 'subscriptions.read',
    agents: 'wallets',
    published: {},
    extensions: {
      created: 'The subscription was offered to a payer',
      charged: 'A payment was taken',
      active: 'The subscription now collects payments',
      past_due: 'A payment was missed; later payments are still charged',
      needs_attention: 'The subscription stopped collecting',
      canceled: 'The subscription ended early',
      completed: 'All payments were made',
      updated: 'Another field changed',
    },
  },
  shop_order: {
    resource: 'shopOrder',
    permission: 'cards.read',
    agents: 'own',
    published: {},
    extensions: {
      placed: 'A shop of the sandbox accepted an order',
      shipped: 'The whole order was shipped',
      partly_shipped: 'Part of the order was shipped',
      canceled: 'The shop canceled the order',
      returning: 'The goods are on their way back',
      returned: 'The goods came back and were refunded',
      updated: 'Another field changed',
    },
  },
  webhook: {
    resource: 'webhook',
    permission: 'webhooks.read',
    agents: 'own',
    published: {},
    extensions: {
      disabled:
        'Deliveries failed for two days, or the receiver answered 410; use update_webhook to enable the webhook again',
      test: 'You sent it with send_test_event',
    },
  },
} as const satisfies Record<string, EventKind>

type Kinds = typeof eventKinds
export type EventWord = keyof Kinds

/** Every type of event, such as `payment.completed`. */
export type EventType = {
  [Word in EventWord]: `${Word}.${(keyof Kinds[Word]['published'] | keyof Kinds[Word]['extensions']) & string}`
}[EventWord]

export const eventTypes: readonly EventType[] = Object.entries(eventKinds).flatMap(
  ([word, { published, extensions }]) =>
    Object.keys({ ...published, ...extensions }).map((step) => `${word}.${step}` as EventType),
)

const knownTypes: ReadonlySet<string> = new Set(eventTypes)

export const isEventType = (type: string): type is EventType => knownTypes.has(type)

/** Returns the first word of an event type. */
export const wordOf = (type: EventType) => type.slice(0, type.indexOf('.')) as EventWord
