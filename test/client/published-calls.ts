/**
 * Every call in the service's published client, as `operation: METHOD path → status result type`. `K` marks a call that
 * sends an Idempotency-Key; the other calls send no key. `+` precedes attributes that only this call returns, such as a
 * secret that is shown once. `*` precedes fields of the answer's `meta`.
 */
export const calls = `
listAgents: GET /agents → 200 page agent
getAgent: GET /agents/{agentId} → 200 one agent
createAgent: POST /agents K → 201 one agent
updateAgent: PATCH /agents/{agentId} K → 200 one agent
deleteAgent: DELETE /agents/{agentId} K → 200 deleted agent
listAgentCustomers: GET /agents/{agentId}/customers → 200 page agentCustomer
createAgentCustomerInvitation: POST /agents/{agentId}/customers K → 200 several agentCustomerInvite
removeAgentCustomer: DELETE /agents/{agentId}/customers/{customerId} K → 200 deleted agentCustomer
listAgentInvitations: GET /agents/invitations → 200 page invitation
revokeAgentInvitation: DELETE /agents/invitations/{invitationId} K → 200 deleted invitation
listAgentKeys: GET /agent-keys → 200 page agentKey
createAgentKey: POST /agent-keys → 201 one agentKey +agentKey:string
revokeAgentKey: DELETE /agent-keys/{keyId} K → 200 deleted agentKey
rotateAgentKey: POST /agent-keys/{keyId}/rotate K → 200 one agentKey +agentKey:string previousKeyExpiresAt:time?
listApiKeys: GET /api-keys → 200 page apiKey
getApiKey: GET /api-keys/{keyId} → 200 one apiKey
createApiKey: POST /api-keys → 201 one apiKey +apiKey:string
revokeApiKey: DELETE /api-keys/{keyId} K → 200 deleted apiKey
listApprovals: GET /approvals → 200 page approval
getApproval: GET /approvals/{approvalId} → 200 one approval
approveApproval: POST /approvals/{approvalId}/approve K → 200 one approval
denyApproval: POST /approvals/{approvalId}/deny K → 200 one approval
listCustomers: GET /customers → 200 page customer
getCustomer: GET /customers/{customerId} → 200 one customer
removeCustomer: DELETE /customers/{customerId} K → 200 deleted customer
removeCustomerAgent: DELETE /customers/{customerId}/agents/{agentId} → 200 one customer
createCustomerInvitation: POST /customers/invitations → 201 several invitation *failedRecipients:list alreadyConnected:list
listCustomerInvitations: GET /customers/invitations → 200 page invitationGroup
revokeCustomerInvitation: DELETE /customers/invitations/{invitationId} → 200 deleted invitation
listInvitationLinks: GET /customers/invitation-links → 200 page invitationLink
createInvitationLink: POST /customers/invitation-links → 200 one invitationLink +token:string url:string
getInvitationLink: GET /customers/invitation-links/{linkId} → 200 one invitationLink
revokeInvitationLink: POST /customers/invitation-links/{linkId}/revoke → 200 one invitationLink
getParty: GET /parties/me → 200 one party
updateParty: PATCH /parties/me → 200 one party
setPartyHandle: PUT /parties/me/handle → 200 one party
getPartyLimits: GET /parties/me/limits → 200 one partyLimitPolicy
setPartyLimits: PUT /parties/me/limits → 200 one partyLimitPolicy
clearPartyLimits: DELETE /parties/me/limits → 200 one partyLimitPolicy
listPartyMembers: GET /parties/me/members → 200 page user
removePartyMember: DELETE /parties/me/members/{userId} K → 200 deleted identity
getPartyCompliance: GET /parties/{partyId}/compliance → 200 none compliance_case
listPartyInvitations: GET /party-invitations → 200 page partyInvitation
createPartyInvitations: POST /party-invitations → 201 several partyInvitation *failed:list
revokePartyInvitation: DELETE /party-invitations/{invitationId} K → 200 deleted partyInvitation
listPayments: GET /payments → 200 page payment
createPayment: POST /payments K → 201 one payment
getPayment: GET /payments/{paymentId} → 200 one payment
cancelPayment: POST /payments/{paymentId}/cancel K → 200 one payment
listTransactions: GET /transactions → 200 page transaction
getTransaction: GET /transactions/{transactionId} → 200 one transaction
createDeposit: POST /transfers/deposit K → 200 one transfer
createWithdrawal: POST /transfers/withdraw K → 200 one transfer
createInternalTransfer: POST /transfers/internal K → 200 one transfer
listTransfers: GET /transfers → 200 page transfer
getTransfer: GET /transfers/{transferId} → 200 one transfer
listWallets: GET /wallets → 200 page wallet
createWallet: POST /wallets K → 201 one wallet
getWallet: GET /wallets/{walletId} → 200 one wallet
updateWallet: PATCH /wallets/{walletId} K → 200 one wallet
setDefaultWallet: POST /wallets/{walletId}/default K → 200 one wallet
freezeWallet: POST /wallets/{walletId}/freeze → 200 one wallet
unfreezeWallet: POST /wallets/{walletId}/unfreeze → 200 one wallet
listWalletAgents: GET /wallets/{walletId}/agents → 200 page agent
attachWalletAgent: POST /wallets/{walletId}/agents K → 200 one agent
setAgentDefaultWallet: POST /wallets/{walletId}/agents/{agentId}/default K → 200 one agent
detachWalletAgent: DELETE /wallets/{walletId}/agents/{agentId} K → 200 deleted identity
createPaymentRequest: POST /payment-requests K → 201 one paymentRequest
listPaymentRequests: GET /payment-requests → 200 page paymentRequest
listIncomingPaymentRequests: GET /payment-requests/incoming → 200 page paymentRequest
getPaymentRequest: GET /payment-requests/{paymentRequestId} → 200 one paymentRequest
fulfillPaymentRequest: POST /payment-requests/{paymentRequestId}/fulfill K → 200 one payment
declinePaymentRequest: POST /payment-requests/{paymentRequestId}/decline K → 200 one paymentRequest
cancelPaymentRequest: POST /payment-requests/{paymentRequestId}/cancel K → 200 one paymentRequest
listExternalAccounts: GET /external-accounts → 200 page externalAccount
getExternalAccount: GET /external-accounts/{externalAccountId} → 200 one externalAccount
deleteExternalAccount: DELETE /external-accounts/{externalAccountId} → 200 deleted externalAccount
linkExternalAccounts: POST /external-accounts/processor-token K → 201 several externalAccount *pagination:object rejectedAccounts:list
listEvents: GET /events → 200 page event
getEvent: GET /events/{eventId} → 200 one event
createWebhook: POST /webhooks K → 201 one webhook +signingSecret:string
listWebhooks: GET /webhooks → 200 page webhook
getWebhook: GET /webhooks/{webhookId} → 200 one webhook
updateWebhook: PATCH /webhooks/{webhookId} K → 200 one webhook
deleteWebhook: DELETE /webhooks/{webhookId} K → 200 deleted webhook
rotateWebhookSecret: POST /webhooks/{webhookId}/rotate-secret K → 200 one webhook +signingSecret:string previousSecretExpiresAt:time?
simulateCustomerInvitation: POST /simulations/invite-customer K → 200 several invitation
simulateInvitationAcceptance: POST /simulations/customer-invitations/{invitationId}/accept K → 200 one invitation
simulateInvitationDecline: POST /simulations/customer-invitations/{invitationId}/decline K → 200 one invitation
fundSandboxWallet: POST /simulations/customers/{customerId}/transfers/deposit K → 200 one transfer
simulatePaymentClaim: POST /simulations/payments/{paymentId}/complete-claim → 200 one payment
simulateAgentRevocation: POST /simulations/customers/{customerId}/agents/{agentId}/revoke K → 200 one customer
simulateCustomerDisconnection: POST /simulations/customers/{customerId}/disconnect K → 200 deleted customer
simulateBankAccountLink: POST /simulations/external-accounts/link K → 200 several externalAccount *pagination:object rejectedAccounts:list
simulatePaymentRequestFulfillment: POST /simulations/payment-requests/{paymentRequestId}/fulfill K → 200 one payment
simulatePaymentRequestDecline: POST /simulations/payment-requests/{paymentRequestId}/decline K → 200 one paymentRequest
`

/** The attributes that the published client declares for each resource type: `name:type`, then `?` if nullable. */
export const shapes: Readonly<Record<string, string>> = {
  agent:
    'name:string description:string? status:string createdAt:time? createdBy:string? tags:object handle:string? limits:object?',
  agentCustomer:
    'name:string? email:string? status:string permissions:list limits:object? createdAt:time updatedAt:time?',
  agentCustomerInvite:
    'recipient:any url:string status:string permissions:list limits:object? tags:object expiresAt:time createdAt:time updatedAt:time?',
  agentKey:
    'agentKeyPrefix:string status:string createdAt:time lastUsedAt:time? revokedAt:time? createdBy:string? revokedBy:string? expiresAt:time? tags:object',
  apiKey:
    'apiKeyPrefix:string name:string scopes:list environment:string status:string createdAt:time lastUsedAt:time? revokedAt:time? createdBy:string? revokedBy:string? tags:object',
  approval:
    'status:string target:object payment:object? reasons:list customer:object? ach:object? realtime:object? initiator:object? denialReason:string? createdAt:time updatedAt:time resolvedAt:time?',
  compliance_case: 'partyId:string status:string version:number',
  customer: 'name:string email:string? avatarUrl:string? createdAt:time? delegation:object agents:list',
  event: 'eventType:string resourceId:string? resourceType:string? payload:object createdAt:time',
  externalAccount:
    'lastFour:string status:string connectionStatus:string createdAt:time bankName:string accountName:string accountType:string?',
  // The client declares no attributes, only the id and the type.
  identity: '',
  invitation:
    'developerName:string email:string? phone:string? url:string agentName:string permissions:list limits:object? status:string effectiveStatus:string expiresAt:time acceptedAt:time? declinedAt:time? cancelReason:string? tags:object createdAt:time updatedAt:time',
  invitationGroup: 'status:string party:object? email:string createdAt:time agentInvitations:list',
  invitationLink: 'proposedAgents:list status:string createdAt:time name:string expiresAt:time? tags:object',
  party:
    'partyType:string status:string createdAt:time updatedAt:time legalName:string? firstName:string? lastName:string? displayName:string? handle:string? avatarUrl:string? persona:string? email:string? primaryPhone:string? addressLine1:string? addressCity:string? addressState:string? addressPostalCode:string? addressCountry:string? createdBy:string?',
  partyInvitation: 'email:string role:string status:string expiresAt:time acceptedAt:time? createdAt:time',
  partyLimitPolicy: 'limits:object? currency:string? updatedAt:time?',
  payment: 'amount:number currency:string status:string description:string? tags:object createdAt:time updatedAt:time?',
  paymentRequest:
    'amount:number currency:string status:string description:string? requesterName:string? requesterEmail:string? requesterAvatarUrl:string? requesterHandle:string? walletName:string? payerName:string? payerEmail:string? payerAvatarUrl:string? payerHandle:string? payerPhone:string? payerPartyId:string? payerIdentifierType:string payerIdentifier:string initiatorParty:object initiatorAgent:object? paymentLinkUrl:string transactionId:string? createdAt:time updatedAt:time?',
  transaction:
    'amount:number currency:string status:string transactionType:string direction:string createdAt:time description:string? updatedAt:time? expectedAvailableAt:time?',
  transfer:
    'type:string amount:number currency:string status:string method:string? rail:string? description:string? tags:object externalAccountDisplayMask:string? expectedAvailableAt:time? failure:object? return:object? submittedAt:time? settledAt:time? createdAt:time updatedAt:time?',
  user: 'partyId:string role:string status:string createdAt:time updatedAt:time firstName:string? lastName:string? email:string?',
  wallet:
    'status:string walletType:string isDefault:boolean createdAt:time? displayName:string? description:string? tags:object balance:object? claims:object depositInstructions:object?',
  webhook: 'url:string description:string? status:string enabledEvents:list tags:object createdAt:time updatedAt:time?',
}
