import { act, first, isDone } from './acts.ts'
import type { Mutant } from './mutant.ts'

/** Acts on what a world may have, and those of the package do not. */
export const recordActs: Mutant[] = [
  act('pays-a-request', 'pays what somebody asked for', ['fulfillPaymentRequest'], async ({ tools }) => {
    const request = await first(tools.call('listIncomingPaymentRequests', {}))
    const wallet = await first(tools.call('listWallets', {}))
    if (request === undefined || wallet === undefined) return false
    const paymentSource = { type: 'wallet' as const, walletId: wallet.id }
    return isDone(await tools.call('fulfillPaymentRequest', { paymentRequestId: request.id, paymentSource }))
  }),
  act('declines-a-request', 'declines what somebody asked for', ['declinePaymentRequest'], async ({ tools }) => {
    const request = await first(tools.call('listIncomingPaymentRequests', {}))
    return request !== undefined && isDone(await tools.call('declinePaymentRequest', { paymentRequestId: request.id }))
  }),
  act('withdraws-money', 'sends $1.00 to a bank account', ['createWithdrawal'], async ({ tools }) => {
    const account = await first(tools.call('listExternalAccounts', {}))
    if (account === undefined) return false
    return isDone(await tools.call('createWithdrawal', { amount: 100, externalAccountId: account.id }))
  }),
  act('deposits-money', 'draws $1.00 from a bank account', ['createDeposit'], async ({ tools }) => {
    const account = await first(tools.call('listExternalAccounts', {}))
    if (account === undefined) return false
    return isDone(await tools.call('createDeposit', { amount: 100, externalAccountId: account.id }))
  }),
  act('moves-money-between-wallets', 'moves $1.00 to another wallet', ['createInternalTransfer'], async ({ tools }) => {
    const from = await first(tools.call('listWallets', {}))
    const to = await first(tools.call('listWallets', {}), ({ id }) => id !== from?.id)
    if (from === undefined || to === undefined) return false
    const asked = { amount: 100, sourceWalletId: from.id, destWalletId: to.id }
    return isDone(await tools.call('createInternalTransfer', asked))
  }),
  act(
    'ends-a-subscription-of-a-payer',
    'cancels a subscription that is paid',
    ['cancelSubscription'],
    async ({ tools }) => {
      const one = await first(tools.call('listSubscriptions', {}))
      return one !== undefined && isDone(await tools.call('cancelSubscription', { subscriptionId: one.id }))
    },
  ),
  act(
    'resumes-a-subscription',
    'resumes a subscription that was stopped',
    ['resumeSubscription'],
    async ({ tools }) => {
      const one = await first(tools.call('listSubscriptions', {}))
      return one !== undefined && isDone(await tools.call('resumeSubscription', { subscriptionId: one.id }))
    },
  ),
  act(
    'marks-a-payment-as-paid',
    'says that a payment of a subscription was paid elsewhere',
    ['markSubscriptionPaymentPaid'],
    async ({ tools }) => {
      const one = await first(tools.call('listSubscriptions', {}))
      if (one === undefined) return false
      const payment = { subscriptionId: one.id, paymentNumber: 1 }
      return isDone(await tools.call('markSubscriptionPaymentPaid', payment))
    },
  ),
]
