import type { OperationDefinition } from '../../src/core/operation.ts'
import type { Delegable, OAuthScope } from '../../src/core/permissions.ts'
import type { OperationKey } from '../../tools/index.ts'
import { trust } from '../credentials/requests.ts'
import type { Ids, Maker } from './makers.ts'
import * as make from './makers.ts'
import { type Grounds, limitCents } from './places.ts'

/** A request about a resource, and who may send it according to docs/service.md. */
export interface Sample {
  /**
   * The credentials that may send the request. `anyone`: every valid credential. `scoped`: every credential with the
   * needed scope. `agents`: only agents. `owners`: the party's keys and users with the needed scope, but no agents.
   */
  who: 'anyone' | 'scoped' | 'agents' | 'owners'
  /**
   * The permitted targets. `self`: the request needs no target. `party`: the target must belong to the caller.
   * `acting`: the target must belong to the caller or to the customer that the request names. This customer must have
   * granted the permission `grant`. `connected`: the target must be a customer.
   */
  reach: 'self' | 'party' | 'acting' | 'connected'
  grant?: Delegable
  make: Maker
  /** Path parameters that are the same for every target. */
  named?: Ids
  /** The required attributes; by default none. */
  attributes?: (ids: Ids, on: Grounds) => object
  /** The additional scope that an OAuth grant needs, because the request asks a customer for permissions. */
  neededScope?: OAuthScope
  /** The query parameters for every target. */
  query?: Record<string, string>
  /** The status if the customer granted the agent only other permissions; by default 403. */
  ungranted?: number
  /** The names of the created ids by which a list can be filtered. */
  filters?: readonly string[]
  /** The names of the created ids that the caller's own list shows; by default all. */
  shown?: readonly string[]
  /** The status of a permitted request; by default the status that the operation declares. */
  permitted?: number
  /** The status if the target is the caller's own party instead of a customer; by default 404. */
  ownParty?: number
  /** The status if an agent's request names another party's agent; by default 404. */
  otherAgent?: number
}

export const permittedStatus = ({ answers }: OperationDefinition, { permitted }: Sample) => permitted ?? answers ?? 200

const usd = { currency: 'USD' }
const purchased = { amount: 10, ...usd }
const merchant = { name: 'Books' }
const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' }
const beneficiary = { name: 'A supplier', accountNumber: '000123456789', routingNumber: '021000021', address }
const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
const plainGoods = { shopId: 'plain-goods' }
const recipients = () => [{ type: 'email', value: make.unusedEmail() }]
const permissions = ['payments.read']

const acting = (grant: Delegable, maker: Maker, more: Partial<Sample> = {}): Sample => ({
  who: 'scoped',
  reach: 'acting',
  grant,
  make: maker,
  ...more,
})
const party = (maker: Maker, more: Partial<Sample> = {}): Sample => ({
  who: 'scoped',
  reach: 'party',
  make: maker,
  ...more,
})
const connected = (who: Sample['who'], more: Partial<Sample> = {}): Sample => ({
  who,
  reach: 'connected',
  make: make.customer,
  ...more,
})
const owners = (maker: Maker, more: Partial<Sample> = {}): Sample => party(maker, { who: 'owners', ...more })
const self = (who: Sample['who'], more: Partial<Sample> = {}): Sample => ({
  who,
  reach: 'self',
  make: make.nothing,
  ...more,
})

/** A sample request for each operation. The compiler rejects a new operation without one. */
export const samples: Readonly<Record<OperationKey, Sample>> = {
  whoami: self('anyone'),
  listWallets: acting('wallets.read', make.wallet),
  getWallet: acting('wallets.read', make.wallet),
  createWallet: owners(make.nothing, { attributes: () => ({ displayName: 'Savings' }) }),
  updateWallet: owners(make.wallet, { attributes: () => ({ displayName: 'Savings' }) }),
  setDefaultWallet: owners(make.wallet),
  freezeWallet: owners(make.emptyWallet),
  unfreezeWallet: owners(make.emptyWallet),
  listWalletAgents: owners(make.walletAndAgent, { shown: ['agentId'] }),
  attachWalletAgent: owners(make.walletAndAgent, { attributes: ({ agentId }) => ({ agentId }) }),
  setAgentDefaultWallet: owners(make.walletAndAgent),
  detachWalletAgent: owners(make.attachment),
  createPayment: acting('payments.create', make.wallet, {
    attributes: ({ walletId }, { shop }) => ({
      ...purchased,
      walletId,
      counterparty: { type: 'party_id', value: shop.partyId },
    }),
  }),
  getPayment: acting('payments.read', make.payment),
  listPayments: acting('payments.read', make.payment),
  cancelPayment: acting('payments.create', make.unclaimedPayment),
  simulatePaymentClaim: party(make.unclaimedPayment),
  createPaymentRequest: acting('payments.create', make.wallet, {
    attributes: ({ walletId }, { shop }) => ({
      ...purchased,
      walletId,
      payer: { type: 'party_id', value: shop.partyId },
    }),
  }),
  listPaymentRequests: acting('payments.read', make.sentRequest),
  listIncomingPaymentRequests: acting('payments.read', make.receivedRequest),
  getPaymentRequest: acting('payments.read', make.sentRequest),
  fulfillPaymentRequest: acting('payments.create', make.receivedRequestAndWallet, {
    attributes: ({ walletId }) => ({ paymentSource: { type: 'wallet', walletId } }),
  }),
  declinePaymentRequest: acting('payments.create', make.receivedRequest),
  cancelPaymentRequest: acting('payments.create', make.sentRequest),
  simulatePaymentRequestFulfillment: party(make.sentRequest),
  simulatePaymentRequestDecline: party(make.sentRequest),
  createWire: acting('payments.create', make.nothing, { attributes: () => ({ ...purchased, beneficiary }) }),
  createInternalTransfer: acting('wallets.transfer', make.walletPair, {
    attributes: ({ sourceWalletId, destWalletId }) => ({ amount: 10, sourceWalletId, destWalletId }),
  }),
  createDeposit: acting('wallets.deposit', make.walletAndBank, {
    attributes: ({ walletId, externalAccountId }) => ({ amount: 100, walletId, externalAccountId }),
  }),
  createWithdrawal: acting('wallets.withdraw', make.walletAndBank, {
    attributes: ({ walletId, externalAccountId }) => ({ amount: 10, walletId, externalAccountId }),
  }),
  simulateTransferSettlement: party(make.withdrawal),
  simulateTransferFailure: party(make.withdrawal),
  simulateTransferReturn: party(make.settledWithdrawal),
  listTransfers: acting('wallets.read', make.transfer),
  getTransfer: acting('wallets.read', make.transfer),
  fundSandboxWallet: connected('scoped', { attributes: () => ({ amount: 10 }), ownParty: 200 }),
  listTransactions: acting('payments.read', make.transactionAndWallet, {
    filters: ['walletId'],
    shown: ['transactionId'],
  }),
  // A request for a customer's events must state an event type.
  listEvents: acting('payments.read', make.paymentAndEvent, {
    query: { eventType: 'payment.created' },
    shown: ['eventId', 'paymentId'],
  }),
  // If the customer's grant does not permit the agent to read the event, the answer is as if the event did not exist.
  getEvent: acting('payments.read', make.event, { ungranted: 404 }),
  listExternalAccounts: acting('wallets.read', make.externalAccount),
  getExternalAccount: acting('wallets.read', make.externalAccount),
  linkExternalAccounts: acting('external_accounts.create', make.nothing, {
    attributes: () => ({ processorToken: 'processor-sandbox-accounts' }),
  }),
  deleteExternalAccount: owners(make.externalAccount),
  simulateBankAccountLink: self('scoped'),
  simulateBankAccountDisconnection: party(make.externalAccount),
  getTransaction: acting('payments.read', make.transaction),
  listApprovals: acting('payments.read', make.approval),
  getApproval: acting('payments.read', make.approval),
  approveApproval: party(make.approval),
  denyApproval: party(make.approval),
  simulateCustomerApproval: party(make.customerApproval),
  simulateCustomerDenial: party(make.customerApproval),
  listCustomers: party(make.nothing),
  createCustomerInvitation: party(make.agentOfPlace, {
    attributes: ({ agentId }) => ({ recipients: recipients(), agents: [{ agentId, permissions }] }),
    neededScope: 'payments:read',
    otherAgent: 403,
  }),
  listCustomerInvitations: party(make.invitation),
  revokeCustomerInvitation: party(make.invitation),
  listInvitationLinks: owners(make.link),
  createInvitationLink: owners(make.agentOfPlace, {
    attributes: ({ agentId }) => ({ name: 'Anyone', proposedAgents: [{ agentId, permissions }] }),
    neededScope: 'payments:read',
  }),
  getInvitationLink: owners(make.link),
  revokeInvitationLink: owners(make.link),
  getCustomer: connected('scoped'),
  removeCustomer: connected('owners'),
  removeCustomerAgent: connected('owners'),
  simulateCustomerInvitation: party(make.agentOfPlace, {
    attributes: ({ agentId }) => ({ agentIds: [agentId] }),
    neededScope: 'payments:write',
    otherAgent: 403,
  }),
  simulateInvitationAcceptance: party(make.invitation),
  simulateInvitationDecline: party(make.invitation),
  simulateAgentRevocation: connected('scoped'),
  simulateCustomerDisconnection: connected('owners'),
  issueAgentCard: acting('cards.read', make.nothing, {
    who: 'agents',
    attributes: () => ({ merchant, maximumAmount: 5000, ...usd }),
  }),
  getAgentCard: acting('cards.read', make.card),
  listAgentCards: acting('cards.read', make.card),
  getAgentCardDetails: acting('cards.read', make.card),
  createAgentCardDetailsPage: acting('cards.read', make.card),
  freezeAgentCard: acting('cards.read', make.card),
  unfreezeAgentCard: acting('cards.read', make.frozenCard),
  getCardTransaction: acting('cards.read', make.purchase),
  listCardTransactions: acting('cards.read', make.cardAndPurchase, { filters: ['cardId'] }),
  simulateCardAuthorization: acting('cards.read', make.card, { attributes: () => ({ ...purchased, merchant }) }),
  simulateCardCapture: acting('cards.read', make.purchase, { attributes: () => purchased }),
  simulateCardReversal: acting('cards.read', make.purchase),
  simulateCardExpiration: acting('cards.read', make.purchase),
  simulateCardRefund: acting('cards.read', make.capturedPurchase, { attributes: () => purchased }),
  listShops: self('anyone'),
  getShop: self('anyone', { named: plainGoods }),
  startShopCheckout: acting('cards.read', make.nothing, {
    named: plainGoods,
    attributes: () => ({ items: [{ productId: 'stoneware-mug' }] }),
  }),
  payShopCheckout: acting('cards.read', make.shopCheckout, { attributes: (_, on) => make.cardFormInput(on) }),
  getShopOrder: acting('cards.read', make.shopOrder),
  returnShopOrder: acting('cards.read', make.shopOrder),
  createSubscription: acting('payments.create', make.nothing, { attributes: () => terms }),
  getSubscription: acting('payments.read', make.pendingSubscription),
  listSubscriptions: acting('payments.read', make.pendingSubscription),
  listSubscriptionPayments: acting('payments.read', make.activeSubscription, { shown: ['subscriptionId'] }),
  cancelSubscription: acting('payments.create', make.pendingSubscription),
  // The permission is checked first. Then the request gets 409, because an active subscription cannot be resumed.
  resumeSubscription: acting('payments.create', make.activeSubscription, { permitted: 409 }),
  markSubscriptionPaymentPaid: acting('payments.create', make.activeSubscription),
  simulateSubscriptionCheckout: acting('payments.create', make.pendingSubscription, {
    attributes: () => ({ card: 'approves' }),
  }),
  simulateSubscriptionCard: acting('payments.create', make.activeSubscription, {
    attributes: () => ({ behavior: 'declines' }),
  }),
  listAgentInvitations: party(make.invitation),
  revokeAgentInvitation: party(make.invitation),
  listAgentCustomers: party(make.agentOfPlace, { shown: [] }),
  createAgentCustomerInvitation: party(make.agentOfPlace, {
    attributes: () => ({ recipients: recipients(), permissions }),
    neededScope: 'payments:read',
  }),
  removeAgentCustomer: connected('owners'),
  listAgents: owners(make.agentOfPlace),
  createAgent: owners(make.wallet, { attributes: ({ walletId }) => ({ name: 'Clerk', walletId }) }),
  getAgent: owners(make.agent),
  updateAgent: owners(make.agent, { attributes: () => ({ name: 'Clerk 2' }) }),
  deleteAgent: owners(make.agent),
  createApiKey: self('owners', { attributes: () => ({ name: 'Spare', scopes: [] }) }),
  listApiKeys: owners(make.apiKey),
  getApiKey: owners(make.apiKey),
  revokeApiKey: owners(make.apiKey),
  createApplication: owners(make.agentOfPlace, { attributes: () => ({ name: 'Worker' }) }),
  listApplications: owners(make.application),
  updateApplication: owners(make.application, { attributes: () => ({ scopes: ['payments:read'] }) }),
  revokeApplication: owners(make.application),
  createTrustedIssuer: owners(make.agentOfPlace, {
    attributes: ({ agentId }) => ({ ...trust, agents: [{ claim: 'sub', value: 'clerk', agentId }] }),
  }),
  listTrustedIssuers: owners(make.trustedIssuer),
  updateTrustedIssuer: owners(make.trustedIssuer, { attributes: () => ({ scopes: ['payments:read'] }) }),
  revokeTrustedIssuer: owners(make.trustedIssuer),
  createAgentKey: owners(make.agentOfPlace),
  listAgentKeys: owners(make.agentKeyAndAgent, { filters: ['agentId'] }),
  rotateAgentKey: owners(make.agentKey, { attributes: () => ({ expiresInSeconds: 60 }) }),
  revokeAgentKey: owners(make.agentKey),
  listActivity: party(make.recordedAction, { filters: ['resourceId', 'agentId'], query: { limit: '100' } }),
  listSandboxMessages: party(make.paymentByEmail, { shown: ['resourceId'] }),
  getParty: self('scoped'),
  updateParty: self('owners', { attributes: () => ({ displayName: 'Renamed' }) }),
  setPartyHandle: self('owners', { attributes: () => ({ handle: make.unusedHandle() }) }),
  getPartyLimits: self('scoped'),
  setPartyLimits: self('owners', { attributes: () => ({ perTransaction: limitCents }) }),
  clearPartyLimits: self('owners'),
  listPartyMembers: owners(make.member),
  removePartyMember: owners(make.member),
  // Any grant from the customer suffices here, even `uselessGrant`, which permits almost no other request.
  getPartyCompliance: connected('scoped', { make: make.partyOfCase, ownParty: 200 }),
  simulateComplianceDecision: connected('owners', {
    make: make.partyOfCase,
    ownParty: 200,
    attributes: () => ({ status: 'approved' }),
  }),
  listPartyInvitations: owners(make.partyInvitation),
  createPartyInvitations: self('owners', {
    attributes: () => ({ invitations: [{ email: make.unusedEmail(), role: 'MEMBER' }] }),
  }),
  revokePartyInvitation: owners(make.partyInvitation),
  resendEvent: owners(make.testEvent),
  createWebhook: self('owners', { attributes: () => ({ url: 'https://hooks.example.com/in', enabledEvents: ['*'] }) }),
  listWebhooks: owners(make.webhook),
  getWebhook: owners(make.webhook),
  updateWebhook: owners(make.webhook, { attributes: () => ({ description: 'Books' }) }),
  deleteWebhook: owners(make.webhook),
  rotateWebhookSecret: owners(make.webhook, { attributes: () => ({ expiresInSeconds: 60 }) }),
  listWebhookDeliveries: owners(make.webhookWithPendingDelivery),
  sendTestEvent: owners(make.webhook),
  getSandboxClock: self('anyone'),
  advanceSandboxClock: self('anyone', { attributes: () => ({ seconds: 1 }) }),
  // The calling party is the first party of the world, so it manages the sandbox.
  setSandboxFault: self('anyone', { attributes: () => ({ id: 'nowhere', path: '/nowhere', fault: 'reset' }) }),
  listSandboxFaults: self('anyone'),
  clearSandboxFaults: self('anyone'),
  resetSandbox: self('anyone', { make: make.currentStateAsResetPoint }),
  saveSandbox: self('anyone', { attributes: () => ({ name: 'as-it-is' }) }),
  listSandboxSnapshots: self('anyone', { make: make.snapshot }),
  restoreSandbox: self('anyone', { make: make.snapshot }),
  deleteSandboxSnapshot: self('anyone', { make: make.snapshot }),
}
