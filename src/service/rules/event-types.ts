import type { Permission } from '../../core/permissions.ts'

/** The event types of one kind of record, with their meanings. */
interface EventKind {
  /** The type of the resource that the event names and shows. */
  resource: string
  /** The permission to read the resource, which also allows reading the event (docs/events.md#who-may-read-which-events). */
  permission: Permission
  /**
   * The events that an agent gets at its own party: about its `own` records, about `wallets` where it may read them, or
   * `all`.
   */
  agents: 'own' | 'wallets' | 'all'
  /** The types in the service's published description. */
  published: Readonly<Record<string, string>>
  /** The types that this service adds. */
  extensions: Readonly<Record<string, string>>
}

const movedByBank = {
  created: 'It was created; it may still need approval',
  completed: 'The money arrived',
  failed: 'The bank refused it',
  returned: 'The bank returned it after it was completed',
  canceled: 'It was canceled before money moved',
  approval_denied: 'A person denied it',
} as const

/**
 * Every type of event, by its first word: the one table from which the types, docs/events.md and the right to read an
 * event follow. The meaning of a type never changes; new types may be added.
 */
export const eventKinds = {
  party: {
    resource: 'party',
    permission: 'party.read',
    agents: 'all',
    published: { updated: 'Its profile, handle, limits, members or status changed' },
    extensions: {},
  },
  compliance_case: {
    resource: 'compliance_case',
    permission: 'party.read',
    agents: 'all',
    published: { updated: 'The review of the party started, needs something, or was decided' },
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
      accepted: 'They accepted',
      declined: 'They declined',
      canceled: 'It was withdrawn, or ended with its agent or party',
    },
    extensions: { expired: 'Nobody answered before it expired' },
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
      completed: 'It was moved',
      failed: 'It was not moved',
      canceled: 'It was canceled before money moved',
      approval_denied: 'A person denied it',
    },
  },
  payment: {
    resource: 'payment',
    permission: 'payments.read',
    agents: 'wallets',
    published: {
      created: 'You paid someone; it may still need approval or be claimed',
      completed: 'The money arrived; the recipient also gets this event',
      failed: 'The bank refused it',
      returned: 'It was returned after it was completed',
      canceled: 'It was canceled before the money arrived',
      approval_denied: 'A person denied it',
    },
    extensions: { pending_claim: 'It waits for its recipient to claim it' },
  },
  approval: {
    resource: 'approval',
    permission: 'payments.read',
    agents: 'wallets',
    published: {
      required: 'A payment or transfer waits for a person to decide',
      approved: 'A person approved it',
      denied: 'A person denied it',
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
      completed: 'It was paid',
      canceled: 'It was withdrawn',
      declined: 'The payer declined',
      incoming: 'Someone asks you for money',
    },
    extensions: {
      processing: 'Its payment is in progress, at the bank or in review',
      reopened: 'Its payment was denied or canceled: it can be paid again',
      failed: 'Its payment failed at the bank',
      returned: 'Its payment was returned after it was paid',
      expired: 'Nobody paid it before it expired',
    },
  },
  party_invitation: {
    resource: 'invitation',
    permission: 'party_invitations.read',
    agents: 'own',
    published: {},
    extensions: {
      created: 'Someone was invited to join the party',
      accepted: 'They joined',
      declined: 'They declined',
      revoked: 'It was withdrawn',
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
      used: 'Its one purchase was made',
      frozen: 'It was frozen',
      unfrozen: 'It can be used again',
      expired: 'It was ended with its agent, wallet or grant',
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
      partially_captured: 'The merchant collected a part of the amount',
      reversed: 'The hold was released, and nothing was charged',
      refunded: 'The merchant refunded money, as a separate transaction',
      updated: 'Something else about it changed, such as the refunded amount',
    },
  },
  subscription: {
    resource: 'subscription',
    permission: 'subscriptions.read',
    agents: 'wallets',
    published: {},
    extensions: {
      created: 'It was offered to a payer',
      charged: 'A payment was taken',
      active: 'It collects payments',
      past_due: 'A payment is late and will be tried again',
      needs_attention: 'It stopped collecting',
      canceled: 'It ended early',
      completed: 'All of it was paid',
      updated: 'Something else about it changed',
    },
  },
  shop_order: {
    resource: 'shopOrder',
    permission: 'cards.read',
    agents: 'own',
    published: {},
    extensions: {
      placed: 'A shop of the sandbox accepted an order',
      shipped: 'All of it was shipped',
      partly_shipped: 'A part of it was shipped',
      canceled: 'The shop canceled it',
      returning: 'It is on its way back',
      returned: 'It came back and was refunded',
      updated: 'Something else about it changed',
    },
  },
  webhook: {
    resource: 'webhook',
    permission: 'webhooks.read',
    agents: 'own',
    published: {},
    extensions: {
      disabled: 'Deliveries failed for two days, or it answered 410: enable it with update_webhook',
      test: 'You asked for it with send_test_event',
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
