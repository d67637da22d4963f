import { getAgentCard, getAgentCardDetails, issueAgentCard, listAgentCards } from './agent-cards.ts'
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
import { listCustomers } from './customers.ts'
import { advanceSandboxClock, getSandboxClock } from './sandbox-clock.ts'
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
import { getWallet, listWallets } from './wallets.ts'

/** Every operation, in the order of the documents. */
export const catalogue = {
  whoami,
  listWallets,
  getWallet,
  listCustomers,
  issueAgentCard,
  getAgentCard,
  listAgentCards,
  getAgentCardDetails,
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
  cancelSubscription,
  resumeSubscription,
  markSubscriptionPaymentPaid,
  simulateSubscriptionCheckout,
  simulateSubscriptionCard,
  getSandboxClock,
  advanceSandboxClock,
} as const

export type Catalogue = typeof catalogue
export type OperationKey = keyof Catalogue
