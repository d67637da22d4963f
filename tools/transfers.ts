import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { paymentOperation, readOperation, simulationOperation, writeOperation } from './kinds.ts'
import { actingParty, paymentStatuses } from './payments.ts'
import {
  ArgumentId,
  Cents,
  Currency,
  CustomerPartyId,
  cause,
  Description,
  Formed,
  Id,
  listQuery,
  RequestedCents,
  RequestedCurrency,
  resource,
  Tags,
  Text,
  Timestamp,
  toOne,
  WaitSeconds,
} from './schemas.ts'

const failure = z.object({ code: z.string().nullable(), reason: z.string().nullable() })

/** A deposit, a withdrawal, a wire, or a transfer between two wallets of one party. Amounts are in cents. */
export const Transfer = resource(
  'transfer',
  Id('tfr'),
  {
    type: z.enum(['deposit', 'withdrawal', 'internal']),
    amount: Cents,
    currency: Currency,
    status: z.enum(paymentStatuses),
    method: z.string().nullable(),
    rail: z.string().nullable(),
    description: z.string().nullable(),
    tags: z.record(z.string(), z.string()),
    externalAccountDisplayMask: z.string().nullable(),
    expectedAvailableAt: Timestamp.nullable(),
    failure: failure.nullable(),
    return: failure.extend({ returnedAt: Timestamp.nullable() }).nullable(),
    submittedAt: Timestamp.nullable(),
    settledAt: Timestamp.nullable(),
    ...cause,
    createdAt: Timestamp,
    updatedAt: Timestamp.nullable(),
  },
  {
    party: toOne('party', 'pty'),
    wallet: toOne('wallet', 'wal'),
    destWallet: toOne('wallet', 'wal'),
    externalAccount: toOne('externalAccount', 'eac'),
    transaction: toOne('transaction', 'txn'),
  },
)

const Address = z.strictObject({
  line1: Text(100).describe('Street and number'),
  city: Text(60).describe('City or town'),
  state: Text(60).describe('State or region, such as CA'),
  postalCode: Text(20).describe('ZIP code'),
  country: Formed(/^[A-Z]{2}$/, 'two letters (ISO 3166)'),
})

const read = {
  ...readOperation,
  output: Transfer,
  permission: 'wallets.read',
  toolsets: ['payments'],
  extension: false,
} as const

const withdrawal = { attributes: { status: 'COMPLETED', type: 'withdrawal' } } as const
/** The example attributes of a transfer that involves no bank. */
const exampleWithoutBank = { status: 'COMPLETED', rail: null, externalAccountDisplayMask: null } as const

export const transfers = {
  createWire: defineOperation({
    ...paymentOperation,
    name: 'create_wire',
    title: 'Send a wire',
    description:
      'Wires money to a bank account, irrevocably. To pay a person or party: create_payment. IN_REVIEW: needs approval.',
    path: '/wire',
    attributes: z.strictObject({
      amount: RequestedCents,
      currency: RequestedCurrency.default('USD'),
      beneficiary: z
        .strictObject({
          name: Text(140).describe('Name of the account holder'),
          accountNumber: Formed(/^[0-9A-Za-z]{4,34}$/, '4 to 34 digits or letters'),
          routingNumber: Formed(/^[0-9]{9}$/, '9 digits'),
          address: Address.describe("Holder's address; some banks require it").optional(),
        })
        .describe('The recipient and their bank account'),
      description: Description(80).describe('Shown to the beneficiary').optional(),
      customerPartyId: CustomerPartyId,
    }),
    output: Transfer,
    permission: 'payments.create',
    adds: true,
    toolsets: ['payments'],
    errors: ['conflict', 'wire.beneficiary_address_required'],
    example: withdrawal,
    extension: false,
  }),

  createInternalTransfer: defineOperation({
    ...writeOperation,
    instanceId: 'agents',
    name: 'create_internal_transfer',
    title: 'Transfer between wallets',
    description: 'Moves money between two wallets of one party. To pay others: create_payment.',
    path: '/transfers/internal',
    attributes: z.strictObject({
      amount: RequestedCents,
      sourceWalletId: ArgumentId('wal', 'wal_… to take the money from'),
      destWalletId: ArgumentId('wal', 'wal_… to move the money to'),
      description: Description(80).describe('Purpose').optional(),
      tags: Tags.optional(),
      ...actingParty,
    }),
    output: Transfer,
    permission: 'wallets.transfer',
    adds: true,
    toolsets: ['payments'],
    errors: ['not_found', 'conflict'],
    example: {
      attributes: { ...exampleWithoutBank, type: 'internal', method: null },
      relationships: {
        destWallet: { data: { type: 'wallet', id: 'wal_0198a1b2c3d40123456789abcdef0000' } },
        transaction: { data: null },
      },
    },
    extension: false,
  }),

  listTransfers: defineOperation({
    ...read,
    result: 'page',
    name: 'list_transfers',
    title: 'List transfers',
    description:
      'Lists deposits, withdrawals, wires and transfers between wallets, newest first. Payments to others: list_payments.',
    path: '/transfers',
    query: listQuery(actingParty),
    errors: [],
    example: withdrawal,
  }),

  getTransfer: defineOperation({
    ...read,
    name: 'get_transfer',
    title: 'Read a transfer',
    description:
      'Reads one deposit, withdrawal, wire or transfer between wallets: its status, and why it failed or was returned.',
    path: '/transfers/{transferId}',
    params: z.strictObject({ transferId: ArgumentId('tfr') }),
    query: z.strictObject({ ...actingParty, waitSeconds: WaitSeconds }),
    errors: ['not_found'],
    example: withdrawal,
  }),

  fundSandboxWallet: defineOperation({
    ...simulationOperation,
    name: 'fund_sandbox_wallet',
    title: 'Fund a sandbox wallet',
    description: 'Adds test money to a wallet.',
    path: '/simulations/customers/{customerId}/transfers/deposit',
    params: z.strictObject({ customerId: ArgumentId('pty', "Your partyId (whoami) or a customer's") }),
    attributes: z.strictObject({
      amount: RequestedCents,
      currency: RequestedCurrency.default('USD'),
      walletId: ArgumentId('wal', 'Omit for the default').optional(),
    }),
    output: Transfer,
    permission: 'wallets.fund',
    adds: true,
    toolsets: ['default', 'payments'],
    errors: ['not_found', 'conflict'],
    example: { attributes: { ...exampleWithoutBank, type: 'deposit', method: 'standard' } },
    extension: false,
  }),
} as const
