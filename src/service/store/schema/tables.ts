import type { PurchaseStatus } from '../../rules/card-purchases.ts'
import type { ActivityHeadRow } from './activity-heads-schema.ts'
import type { CardPageRow } from './card-pages-schema.ts'
import type { ClockRow } from './clock-schema.ts'
import type { AccessTokenRow, ActivityRow } from './credential-tables.ts'
import type { InvitationLinkRow } from './invitation-links-schema.ts'
import type { CustomerInvitationRow } from './invitation-tables.ts'
import type { McpSessionTables } from './mcp-sessions-schema.ts'
import type { OAuthTables } from './oauth-schema.ts'
import type { ApprovalRow, PaymentRow, TransactionRow } from './payment-tables.ts'
import type { RootKeyRow } from './root-keys-schema.ts'
import type { SecondFactorRow } from './second-factor-schema.ts'
import type { SignInBoundTables } from './sign-in-bounds-schema.ts'

/**
 * The tables, alike on SQLite and PostgreSQL: ids are text, amounts integer cents, instants milliseconds since the
 * epoch on the service's clock, booleans 0 or 1, structured values JSON as text.
 */
export interface Tables extends OAuthTables, SignInBoundTables, McpSessionTables {
  parties: PartyRow
  users: UserRow
  secondFactors: SecondFactorRow
  agents: AgentRow
  wallets: WalletRow
  walletAgents: WalletAgentRow
  walletPermissions: WalletPermissionRow
  credentials: CredentialRow
  accessTokens: AccessTokenRow
  activity: ActivityRow
  activityHeads: ActivityHeadRow
  delegations: DelegationRow
  customerInvitations: CustomerInvitationRow
  invitationLinks: InvitationLinkRow
  agentCards: AgentCardRow
  cardPages: CardPageRow
  cardTransactions: CardTransactionRow
  ledgerEntries: LedgerEntryRow
  subscriptions: SubscriptionRow
  subscriptionPayments: SubscriptionPaymentRow
  payments: PaymentRow
  approvals: ApprovalRow
  transactions: TransactionRow
  rootKeys: RootKeyRow
  idempotencyRecords: IdempotencyRecordRow
  clock: ClockRow
}

export interface PartyRow {
  id: string
  partyType: 'PERSON' | 'ORG'
  displayName: string
  email: string | null
  /** Without the `@`. */
  handle: string | null
  /** E.164. */
  phone: string | null
  /** JSON of `Limits`, on everything that leaves its wallets. */
  limits: string | null
  issuedCardsEnabled: 0 | 1
  createdAtMs: number
}

export interface UserRow {
  id: string
  partyId: string
  role: 'OWNER' | 'ADMIN' | 'MEMBER'
  name: string
  email: string
  /** When the user last proved a second factor, by the service's clock. */
  mfaVerifiedAtMs: number | null
  createdAtMs: number
}

export interface AgentRow {
  id: string
  partyId: string
  name: string
  description: string | null
  /** JSON object of texts. */
  tags: string
  /** The agent's part of its handle. */
  slug: string | null
  /** `@<party handle>-<slug>`. */
  handle: string | null
  /** JSON of `AgentLimits`: caps on what it starts on its owner's party; null without any. */
  limits: string | null
  status: 'ACTIVE' | 'REVOKED'
  createdBy: string | null
  updatedBy: string | null
  createdAtMs: number
  /** Null until its first change. */
  updatedAtMs: number | null
  /** When a credential of it was last used, up to a minute late. */
  lastActiveAtMs: number | null
}

export interface WalletRow {
  id: string
  partyId: string
  displayName: string | null
  description: string | null
  status: 'active' | 'frozen' | 'closed'
  walletType: 'standard' | 'vault'
  isDefault: 0 | 1
  tags: string
  /** What can be spent now. */
  availableCents: number
  /** What authorizations hold. The wallet owns the sum of both. */
  heldCents: number
  currency: 'USD'
  /** Rises with each change; a change is a compare-and-set on it. */
  version: number
  createdAtMs: number
}

/** An agent of the owner's that may use the wallet. */
export interface WalletAgentRow {
  walletId: string
  agentId: string
  isDefault: 0 | 1
  attachedAtMs: number
}

/** What an attached agent holds on the wallet (`cards.read`, …), a row each. */
export interface WalletPermissionRow {
  walletId: string
  agentId: string
  permission: string
}

export interface CredentialRow {
  id: string
  kind: 'api_key' | 'agent_key' | 'user_token'
  partyId: string
  /** Of an agent key. */
  agentId: string | null
  /** Of a user's token. */
  userId: string | null
  name: string | null
  /** SHA-256 of the whole credential, hexadecimal; the secret itself is not stored. */
  secretHash: string
  /** The first characters of the credential, for people to recognize it. */
  displayPrefix: string
  /** JSON array of scopes; null for what takes none: agent keys and users' tokens. */
  scopes: string | null
  /** JSON object of texts. */
  tags: string
  /** Made by the seed, so that a start can set its secret. */
  seeded: 0 | 1
  createdBy: string | null
  revokedBy: string | null
  revokedAtMs: number | null
  /** Set by a rotation: when its grace period ends. */
  expiresAtMs: number | null
  /** Up to a minute late. */
  lastUsedAtMs: number | null
  createdAtMs: number
}

/** A customer's grant to an agent. */
export interface DelegationRow {
  id: string
  customerPartyId: string
  agentPartyId: string
  agentId: string
  /** JSON array. */
  permissions: string
  /** JSON object or null. */
  limits: string | null
  status: 'ACTIVE' | 'REVOKED' | 'EXPIRED' | 'SUSPENDED'
  createdAtMs: number
  revokedAtMs: number | null
}

export interface AgentCardRow {
  id: string
  /** The party whose wallet pays. */
  partyId: string
  walletId: string
  /** The agent the card was issued to. */
  agentId: string
  instanceId: string | null
  merchantName: string
  maximumAmountCents: number
  currency: 'USD'
  expiresAtMs: number
  usedAtMs: number | null
  version: number
  createdAtMs: number
  updatedAtMs: number
}

export interface CardTransactionRow {
  id: string
  partyId: string
  walletId: string
  cardId: string
  kind: 'purchase' | 'refund'
  /** The purchase that a refund returns. */
  purchaseId: string | null
  merchantName: string
  amountCents: number
  currency: 'USD'
  status: PurchaseStatus
  declineCode: string | null
  heldCents: number
  capturedCents: number
  refundedCents: number
  /** When an authorization that nobody captured lapses. */
  holdExpiresAtMs: number | null
  agentId: string | null
  instanceId: string | null
  version: number
  createdAtMs: number
  updatedAtMs: number
}

/** One side of a posting. The entries of a posting sum to zero; a wallet's balances are the sums of its entries. */
export interface LedgerEntryRow {
  id: string
  postingId: string
  account: 'available' | 'held' | 'card_network' | 'payer_cards' | 'funding' | 'wire_network'
  /** Null for the accounts outside the service. */
  walletId: string | null
  amountCents: number
  reason: string
  /** The record that moved the money: a card transaction, a subscription. */
  sourceId: string | null
  createdAtMs: number
}

export interface IdempotencyRecordRow {
  /** The party the request acts on: keys are scoped to it. */
  partyId: string
  /** SHA-256 of the Idempotency-Key. */
  key: string
  /** SHA-256 of method, path and canonical body. */
  fingerprint: string
  /** `unresolved`: accepted, answered 503, to be repeated. `finished`: `status` and `body` replay. */
  state: 'unresolved' | 'finished'
  status: number | null
  /** Sealed: only the Idempotency-Key itself opens it. */
  body: string | null
  finishedAtMs: number | null
}

export interface SubscriptionRow {
  id: string
  /** The merchant: the party acted on when it was created. */
  partyId: string
  /** Where the money lands. */
  walletId: string
  paymentIntentId: string
  mandateId: string | null
  agentId: string | null
  instanceId: string | null
  status: 'pending' | 'active' | 'past_due' | 'needs_attention' | 'canceled' | 'completed'
  /** JSON of `Terms`. */
  terms: string
  /** JSON of `Billing`. */
  billing: string
  currency: 'USD'
  /** When something happens next by itself; null when nothing does. */
  nextEventAtMs: number | null
  version: number
  createdAtMs: number
  updatedAtMs: number
}

/** A payment that was charged. Its number is part of the key, so that it cannot be charged twice. */
export interface SubscriptionPaymentRow {
  subscriptionId: string
  paymentNumber: number
  amountCents: number
  taxCents: number
  chargedAtMs: number
}
