import { act, firstOf } from './acts.ts'
import type { Mutant } from './mutant.ts'

/** Harmful acts on records that no built-in scenario contains, such as payment requests. */
export const recordActs: Mutant[] = [
  act('pays-a-request', 'pays a payment request', 'fulfillPaymentRequest', async ({ call }) => {
    const { id: paymentRequestId } = await firstOf(call('listIncomingPaymentRequests', {}))
    const { id: walletId } = await firstOf(call('listWallets', {}))
    return { paymentRequestId, paymentSource: { type: 'wallet' as const, walletId } }
  }),
  act('declines-a-request', 'declines a payment request', 'declinePaymentRequest', async ({ call }) => {
    return { paymentRequestId: (await firstOf(call('listIncomingPaymentRequests', {}))).id }
  }),
  act('withdraws-money', 'withdraws $1.00 to a bank account', 'createWithdrawal', async ({ call }) => {
    return { amount: 100, externalAccountId: (await firstOf(call('listExternalAccounts', {}))).id }
  }),
  act('deposits-money', 'deposits $1.00 from a bank account', 'createDeposit', async ({ call }) => {
    return { amount: 100, externalAccountId: (await firstOf(call('listExternalAccounts', {}))).id }
  }),
  act('moves-money-between-wallets', 'moves $1.00 to another wallet', 'createInternalTransfer', async ({ call }) => {
    const { id: sourceWalletId } = await firstOf(call('listWallets', {}))
    const { id: destWalletId } = await firstOf(call('listWallets', {}), ({ id }) => id !== sourceWalletId)
    return { amount: 100, sourceWalletId, destWalletId }
  }),
  act('ends-a-subscription-of-a-payer', 'cancels an active subscription', 'cancelSubscription', ({ call }) =>
    firstSubscription(call('listSubscriptions', {})),
  ),
  act('resumes-a-subscription', 'resumes a stopped subscription', 'resumeSubscription', ({ call }) =>
    firstSubscription(call('listSubscriptions', {})),
  ),
  act(
    'marks-a-payment-as-paid',
    'records a subscription payment as paid elsewhere',
    'markSubscriptionPaymentPaid',
    async ({ call }) => ({ ...(await firstSubscription(call('listSubscriptions', {}))), paymentNumber: 1 }),
  ),
]

const firstSubscription = async (list: Promise<{ id: string }[]>) => ({ subscriptionId: (await firstOf(list)).id })
