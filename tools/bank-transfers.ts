import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { paymentOperation, simulationOperation } from './kinds.ts'
import { actingParty } from './payments.ts'
import { ArgumentId, Cents, Description, RequestedCents, RequestedCurrency, Tags, Text } from './schemas.ts'
import { Transfer } from './transfers.ts'

export const withdrawalMethods = ['standard', 'instant', 'wire'] as const

const command = {
  ...paymentOperation,
  output: Transfer,
  adds: true,
  toolsets: ['payments', 'accounts'],
  errors: ['not_found', 'conflict'],
  extension: false,
} as const

const details = {
  currency: RequestedCurrency.default('USD'),
  walletId: ArgumentId('wal', 'Omit for the default').optional(),
  description: Description(80).describe('Purpose').optional(),
  tags: Tags.optional(),
  ...actingParty,
}

/** The members shared by the operations that simulate how a bank handles a deposit or withdrawal. */
const simulation = {
  ...simulationOperation,
  params: z.strictObject({ transferId: ArgumentId('tfr') }),
  output: Transfer,
  permission: 'banks.simulate',
  setsState: true,
  toolsets: ['accounts'],
  errors: ['not_found', 'conflict'],
  extension: true,
} as const

const failureDetails = z.strictObject({
  code: Text(20).describe("The bank's code, such as R01").optional(),
  reason: Text(100).describe("The bank's explanation").optional(),
})

const deposit = { type: 'deposit', method: 'standard', rail: 'ach' } as const
const unposted = {
  relationships: { destWallet: { data: null }, transaction: { data: null } },
} as const

export const bankTransfers = {
  createDeposit: defineOperation({
    ...command,
    name: 'create_deposit',
    title: 'Deposit from a bank account',
    description:
      'Moves money from a linked bank account into a wallet: PROCESSING until expectedAvailableAt. The bank may still return it later.',
    path: '/transfers/deposit',
    attributes: z.strictObject({
      amount: Cents.min(100).max(99_999_999).describe('Cents: 5000 is $50.00; at least 100'),
      externalAccountId: ArgumentId('eac', 'eac_… from list_external_accounts'),
      ...details,
    }),
    unlisted: ['tags'],
    permission: 'deposits.create',
    example: {
      attributes: { ...deposit, status: 'PROCESSING', failure: null, return: null, settledAt: null },
      ...unposted,
    },
  }),

  createWithdrawal: defineOperation({
    ...command,
    name: 'create_withdrawal',
    title: 'Withdraw to a bank account',
    description:
      'Pays money out of a wallet to a linked bank account. PROCESSING: on hold until the bank receives it. IN_REVIEW: list_approvals.',
    path: '/transfers/withdraw',
    attributes: z.strictObject({
      amount: RequestedCents,
      externalAccountId: ArgumentId('eac', 'eac_… from list_external_accounts'),
      method: z.enum(withdrawalMethods).default('standard').describe('instant and wire are faster'),
      ...details,
    }),
    unlisted: ['tags'],
    permission: 'withdrawals.create',
    example: {
      attributes: {
        type: 'withdrawal',
        method: 'standard',
        rail: 'ach',
        status: 'PROCESSING',
        failure: null,
        return: null,
        settledAt: null,
      },
      ...unposted,
    },
  }),

  simulateTransferSettlement: defineOperation({
    ...simulation,
    name: 'simulate_transfer_settlement',
    title: 'Settle a bank transfer',
    description: 'Simulates the bank settling a PROCESSING deposit or withdrawal at once.',
    path: '/simulations/transfers/{transferId}/settle',
    example: { attributes: { ...deposit, status: 'COMPLETED', failure: null, return: null } },
  }),

  simulateTransferFailure: defineOperation({
    ...simulation,
    name: 'simulate_transfer_failure',
    title: 'Fail a bank transfer',
    description:
      'Simulates the bank refusing a PROCESSING deposit or withdrawal: it becomes FAILED, and held money is available again.',
    path: '/simulations/transfers/{transferId}/fail',
    attributes: failureDetails,
    bodyOptional: true,
    example: { attributes: { ...deposit, status: 'FAILED', return: null, settledAt: null }, ...unposted },
  }),

  simulateTransferReturn: defineOperation({
    ...simulation,
    name: 'simulate_transfer_return',
    title: 'Return a bank transfer',
    description:
      'Simulates the bank returning a COMPLETED deposit or withdrawal. A returned deposit can make the balance negative.',
    path: '/simulations/transfers/{transferId}/return',
    attributes: failureDetails,
    bodyOptional: true,
    example: { attributes: { ...deposit, status: 'RETURNED', failure: null } },
  }),
} as const
