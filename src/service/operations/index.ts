import type { Handlers } from '../request/handler.ts'
import { listActivity } from './activity.ts'
import { createAgentCardDetailsPage } from './agent-card-details-page.ts'
import { getAgentCard, getAgentCardDetails, issueAgentCard, listAgentCards } from './agent-cards.ts'
import {
  createAgentCustomerInvitation,
  listAgentCustomers,
  listAgentInvitations,
  removeAgentCustomer,
  revokeAgentInvitation,
} from './agent-customers.ts'
import { createAgentKey, listAgentKeys, revokeAgentKey, rotateAgentKey } from './agent-keys.ts'
import { createAgent, deleteAgent, getAgent, listAgents, updateAgent } from './agents.ts'
import { createApiKey, getApiKey, listApiKeys, revokeApiKey } from './api-keys.ts'
import {
  approveApproval,
  denyApproval,
  getApproval,
  listApprovals,
  simulateCustomerApproval,
  simulateCustomerDenial,
} from './approvals.ts'
import {
  getCardTransaction,
  listCardTransactions,
  simulateCardAuthorization,
  simulateCardCapture,
  simulateCardExpiration,
  simulateCardRefund,
  simulateCardReversal,
} from './card-transactions.ts'
import { whoami } from './credentials.ts'
import { createCustomerInvitation, listCustomerInvitations, revokeCustomerInvitation } from './customer-invitations.ts'
import {
  getCustomer,
  listCustomers,
  removeCustomer,
  removeCustomerAgent,
  simulateAgentRevocation,
  simulateCustomerDisconnection,
} from './customers.ts'
import {
  createInvitationLink,
  getInvitationLink,
  listInvitationLinks,
  revokeInvitationLink,
} from './invitation-links.ts'
import {
  simulateCustomerInvitation,
  simulateInvitationAcceptance,
  simulateInvitationDecline,
} from './invitation-simulations.ts'
import { fundSandboxWallet, simulatePaymentClaim } from './payment-simulations.ts'
import { cancelPayment, createPayment, getPayment, listPayments } from './payments.ts'
import { advanceSandboxClock, getSandboxClock } from './sandbox-clock.ts'
import { listSubscriptionPayments } from './subscription-payments.ts'
import {
  cancelSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
  markSubscriptionPaymentPaid,
  resumeSubscription,
  simulateSubscriptionCard,
  simulateSubscriptionCheckout,
} from './subscriptions.ts'
import { getTransaction, listTransactions } from './transactions.ts'
import { createInternalTransfer, createWire, getTransfer, listTransfers } from './transfers.ts'
import { attachWalletAgent, detachWalletAgent, listWalletAgents, setAgentDefaultWallet } from './wallet-agents.ts'
import {
  createWallet,
  freezeWallet,
  getWallet,
  listWallets,
  setDefaultWallet,
  unfreezeWallet,
  updateWallet,
} from './wallets.ts'

export const handlers = {
  whoami,
  listWallets,
  getWallet,
  createWallet,
  updateWallet,
  setDefaultWallet,
  freezeWallet,
  unfreezeWallet,
  listWalletAgents,
  attachWalletAgent,
  setAgentDefaultWallet,
  detachWalletAgent,
  createPayment,
  getPayment,
  listPayments,
  cancelPayment,
  simulatePaymentClaim,
  createWire,
  createInternalTransfer,
  listTransfers,
  getTransfer,
  fundSandboxWallet,
  listTransactions,
  getTransaction,
  listApprovals,
  getApproval,
  approveApproval,
  denyApproval,
  simulateCustomerApproval,
  simulateCustomerDenial,
  listCustomers,
  createCustomerInvitation,
  listCustomerInvitations,
  revokeCustomerInvitation,
  listInvitationLinks,
  createInvitationLink,
  getInvitationLink,
  revokeInvitationLink,
  getCustomer,
  removeCustomer,
  removeCustomerAgent,
  simulateCustomerInvitation,
  simulateInvitationAcceptance,
  simulateInvitationDecline,
  simulateAgentRevocation,
  simulateCustomerDisconnection,
  issueAgentCard,
  getAgentCard,
  listAgentCards,
  getAgentCardDetails,
  createAgentCardDetailsPage,
  getCardTransaction,
  listCardTransactions,
  simulateCardAuthorization,
  simulateCardCapture,
  simulateCardReversal,
  simulateCardExpiration,
  simulateCardRefund,
  createSubscription,
  getSubscription,
  listSubscriptions,
  listSubscriptionPayments,
  cancelSubscription,
  resumeSubscription,
  markSubscriptionPaymentPaid,
  simulateSubscriptionCheckout,
  simulateSubscriptionCard,
  listAgentInvitations,
  revokeAgentInvitation,
  listAgentCustomers,
  createAgentCustomerInvitation,
  removeAgentCustomer,
  listAgents,
  createAgent,
  getAgent,
  updateAgent,
  deleteAgent,
  createApiKey,
  listApiKeys,
  getApiKey,
  revokeApiKey,
  createAgentKey,
  listAgentKeys,
  rotateAgentKey,
  revokeAgentKey,
  listActivity,
  getSandboxClock,
  advanceSandboxClock,
} as const satisfies Handlers
