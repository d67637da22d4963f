/**
 * The main fields of each resource type, in order. They form the first line of a single record's text, and the columns
 * of a list. Each field is an attribute, a dotted path to an inner attribute, or a relationship.
 */
export const columns: Readonly<Record<string, readonly string[]>> = {
  activity: ['createdAt', 'operation', 'result', 'resourceIds', 'actorType', 'agentId'],
  agent: ['status', 'name', 'handle', 'limits'],
  agentCard: ['status', 'merchant.name', 'maximumAmount', 'expiresAt', 'wallet'],
  agentCardDetails: ['number', 'cvv', 'expirationMonth', 'expirationYear'],
  agentCardDetailsPage: ['url', 'expiresAt'],
  agentDelegationInvitation: ['effectiveStatus', 'email', 'phone', 'agentName', 'permissions', 'url', 'expiresAt'],
  agentKey: ['status', 'agentKeyPrefix', 'agentKey', 'agent', 'expiresAt'],
  apiKey: ['status', 'name', 'apiKeyPrefix', 'apiKey', 'scopes'],
  approval: ['status', 'payment.amount', 'target.id', 'reasons', 'customer', 'initiator.agent.name', 'createdAt'],
  cardTransaction: [
    ...['kind', 'status', 'amount', 'merchant.name', 'held', 'captured', 'refunded', 'decline.code'],
    ...['agentCard', 'purchase', 'createdAt'],
  ],
  clock: ['now'],
  compliance_case: ['status', 'partyId'],
  customer: ['status', 'name', 'email', 'delegation.status'],
  customerInvitation: ['status', 'email', 'party', 'recipient', 'url', 'agentInvitations'],
  event: ['createdAt', 'eventType', 'resourceType', 'resourceId'],
  externalAccount: ['status', 'connectionStatus', 'bankName', 'accountName', 'accountType', 'lastFour'],
  invitationLink: ['status', 'name', 'url', 'proposedAgents', 'expiresAt'],
  party: ['status', 'partyType', 'displayName', 'handle', 'legalName'],
  partyInvitation: ['status', 'email', 'role', 'url'],
  partyLimitPolicy: ['limits'],
  payment: ['status', 'amount', 'description', 'recipient', 'recipientAgent', 'claimLink', 'createdAt'],
  paymentRequest: ['status', 'amount', 'description', 'requesterName', 'payerIdentifier', 'createdAt'],
  sandboxMessage: ['createdAt', 'kind', 'channel', 'to', 'subject', 'text'],
  shop: ['name'],
  subscription: [
    ...['status', 'terms.description', 'terms.amount', 'terms.totalAmount', 'terms.every.unit', 'terms.every.count'],
    ...['terms.paymentCount', 'nextPayment.dueDate', 'nextPayment.amount', 'missedPayments', 'attention.reason'],
  ],
  subscriptionPayment: ['paymentNumber', 'dueDate', 'status', 'amount', 'taxAmount', 'paidAt', 'transaction'],
  transaction: [
    ...['direction', 'status', 'amount', 'description', 'sourceParty', 'destinationParty'],
    ...['payment', 'transfer', 'subscription', 'createdAt'],
  ],
  transfer: [
    ...['status', 'type', 'amount', 'description', 'wallet', 'destWallet', 'externalAccountDisplayMask'],
    ...['expectedAvailableAt', 'failure', 'return', 'createdAt'],
  ],
  user: ['status', 'role', 'firstName', 'lastName', 'email'],
  wallet: ['status', 'displayName', 'isDefault', 'balance', 'claims'],
  webhook: ['status', 'url', 'enabledEvents', 'description', 'signingSecret'],
  webhookDelivery: ['status', 'eventType', 'eventId', 'attempts', 'lastResponseStatus', 'lastError', 'nextAttemptAt'],
  whoami: ['actorType', 'partyId', 'agentId', 'userId'],
}

/** The hash attributes, which a model cannot use. An answer's text shows them only if the call asks for full detail. */
export const hashes: readonly string[] = ['previousHash', 'hash']
