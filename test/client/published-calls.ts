/**
 * Every call in the service's published client, as `operation: METHOD path → status result type`. `K` marks a call with
 * an Idempotency-Key; other calls never have one. `+` precedes additional attributes of the result, such as a secret
 * that is shown once. `*` precedes members of `meta`.
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
createAgentKey: POST /agent-keys → 201 one agentKey +agentKey:text
revokeAgentKey: DELETE /agent-keys/{keyId} K → 200 deleted agentKey
rotateAgentKey: POST /agent-keys/{keyId}/rotate K → 200 one agentKey +agentKey:text previousKeyExpiresAt:time?
listApiKeys: GET /api-keys → 200 page apiKey
getApiKey: GET /api-keys/{keyId} → 200 one apiKey
createApiKey: POST /api-keys → 201 one apiKey +apiKey:text
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
createInvitationLink: POST /customers/invitation-links → 200 one invitationLink +token:text url:text
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
linkExternalAccounts: POST /external-accounts/processor-token K → 201 several externalAccount *pagination:map rejectedAccounts:list
listEvents: GET /events → 200 page event
getEvent: GET /events/{eventId} → 200 one event
createWebhook: POST /webhooks K → 201 one webhook +signingSecret:text
listWebhooks: GET /webhooks → 200 page webhook
getWebhook: GET /webhooks/{webhookId} → 200 one webhook
updateWebhook: PATCH /webhooks/{webhookId} K → 200 one webhook
deleteWebhook: DELETE /webhooks/{webhookId} K → 200 deleted webhook
rotateWebhookSecret: POST /webhooks/{webhookId}/rotate-secret K → 200 one webhook +signingSecret:text previousSecretExpiresAt:time?
simulateCustomerInvitation: POST /simulations/invite-customer K → 200 several invitation
simulateInvitationAcceptance: POST /simulations/customer-invitations/{invitationId}/accept K → 200 one invitation
simulateInvitationDecline: POST /simulations/customer-invitations/{invitationId}/decline K → 200 one invitation
fundSandboxWallet: POST /simulations/customers/{customerId}/transfers/deposit K → 200 one transfer
simulatePaymentClaim: POST /simulations/payments/{paymentId}/complete-claim → 200 one payment
simulateAgentRevocation: POST /simulations/customers/{customerId}/agents/{agentId}/revoke K → 200 one customer
simulateCustomerDisconnection: POST /simulations/customers/{customerId}/disconnect K → 200 deleted customer
simulateBankAccountLink: POST /simulations/external-accounts/link K → 200 several externalAccount *pagination:map rejectedAccounts:list
simulatePaymentRequestFulfillment: POST /simulations/payment-requests/{paymentRequestId}/fulfill K → 200 one payment
simulatePaymentRequestDecline: POST /simulations/payment-requests/{paymentRequestId}/decline K → 200 one paymentRequest
`

/** The attributes that the client knows of each resource, with the type to check, and `?` if it may be null. */
export const shapes: Readonly<Record<string, string>> = {
  agent: 'name:text description:text? status:text createdAt:time? createdBy:text? tags:map handle:text? limits:map?',
  agentCustomer: 'name:text? email:text? status:text permissions:list limits:map? createdAt:time updatedAt:time?',
  agentCustomerInvite:
    'recipient:any url:text status:text permissions:list limits:map? tags:map expiresAt:time createdAt:time updatedAt:time?',
  agentKey:
    'agentKeyPrefix:text status:text createdAt:time lastUsedAt:time? revokedAt:time? createdBy:text? revokedBy:text? expiresAt:time? tags:map',
  apiKey:
    'apiKeyPrefix:text name:text scopes:list environment:text status:text createdAt:time lastUsedAt:time? revokedAt:time? createdBy:text? revokedBy:text? tags:map',
  approval:
    'status:text target:map payment:map? reasons:list customer:map? ach:map? realtime:map? initiator:map? denialReason:text? createdAt:time updatedAt:time resolvedAt:time?',
  compliance_case: 'partyId:text status:text version:number',
  customer: 'name:text email:text? avatarUrl:text? createdAt:time? delegation:map agents:list',
  event: 'eventType:text resourceId:text? resourceType:text? payload:map createdAt:time',
  externalAccount:
    'lastFour:text status:text connectionStatus:text createdAt:time bankName:text accountName:text accountType:text?',
  // The client knows only the id and the type.
  identity: '',
  invitation:
    'developerName:text email:text? phone:text? url:text agentName:text permissions:list limits:map? status:text effectiveStatus:text expiresAt:time acceptedAt:time? declinedAt:time? cancelReason:text? tags:map createdAt:time updatedAt:time',
  invitationGroup: 'status:text party:map? email:text createdAt:time agentInvitations:list',
  invitationLink: 'proposedAgents:list status:text createdAt:time name:text expiresAt:time? tags:map',
  party:
    'partyType:text status:text createdAt:time updatedAt:time legalName:text? firstName:text? lastName:text? displayName:text? handle:text? avatarUrl:text? persona:text? email:text? primaryPhone:text? addressLine1:text? addressCity:text? addressState:text? addressPostalCode:text? addressCountry:text? createdBy:text?',
  partyInvitation: 'email:text role:text status:text expiresAt:time acceptedAt:time? createdAt:time',
  partyLimitPolicy: 'limits:map? currency:text? updatedAt:time?',
  payment: 'amount:number currency:text status:text description:text? tags:map createdAt:time updatedAt:time?',
  paymentRequest:
    'amount:number currency:text status:text description:text? requesterName:text? requesterEmail:text? requesterAvatarUrl:text? requesterHandle:text? walletName:text? payerName:text? payerEmail:text? payerAvatarUrl:text? payerHandle:text? payerPhone:text? payerPartyId:text? payerIdentifierType:text payerIdentifier:text initiatorParty:map initiatorAgent:map? paymentLinkUrl:text transactionId:text? createdAt:time updatedAt:time?',
  transaction:
    'amount:number currency:text status:text transactionType:text direction:text createdAt:time description:text? updatedAt:time? expectedAvailableAt:time?',
  transfer:
    'type:text amount:number currency:text status:text method:text? rail:text? description:text? tags:map externalAccountDisplayMask:text? expectedAvailableAt:time? failure:map? return:map? submittedAt:time? settledAt:time? createdAt:time updatedAt:time?',
  user: 'partyId:text role:text status:text createdAt:time updatedAt:time firstName:text? lastName:text? email:text?',
  wallet:
    'status:text walletType:text isDefault:flag createdAt:time? displayName:text? description:text? tags:map balance:map? claims:map depositInstructions:map?',
  webhook: 'url:text description:text? status:text enabledEvents:list tags:map createdAt:time updatedAt:time?',
}
