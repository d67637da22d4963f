import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation } from './kinds.ts'
import { actingParty } from './payments.ts'
import { ArgumentId, Cents, Currency, CustomerPartyId, Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

/** A movement of money into or out of a wallet, as the party that owns the wallet sees it. Amounts are in cents. */
export const Transaction = resource(
  'transaction',
  Id('txn'),
  {
    amount: Cents,
    currency: Currency,
    status: z.string(),
    transactionType: z.enum(['payment', 'transfer']),
    direction: z.enum(['INBOUND', 'OUTBOUND']),
    description: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp.nullable(),
    expectedAvailableAt: Timestamp.nullable(),
  },
  {
    sourceParty: toOne('party', 'pty'),
    destinationParty: toOne('party', 'pty'),
    payment: toOne('payment', 'pay'),
    transfer: toOne('transfer', 'tfr'),
    wallet: toOne('wallet', 'wal'),
    subscription: toOne('subscription', 'sub').optional(),
  },
)

const read = {
  ...readOperation,
  output: Transaction,
  permission: 'payments.read',
  toolsets: ['payments'],
  extension: false,
} as const

const outbound = {
  attributes: { status: 'COMPLETED', direction: 'OUTBOUND' },
  relationships: { transfer: { data: null } },
} as const

export const transactions = {
  listTransactions: defineOperation({
    ...read,
    result: 'page',
    name: 'list_transactions',
    title: 'List transactions',
    description: 'Lists settled movements of money, newest first. Card purchases: list_card_transactions.',
    path: '/transactions',
    query: listQuery({
      type: z.enum(['payment', 'transfer', 'all']).default('all').describe('Only of this type'),
      counterpartyPartyId: ArgumentId('pty', 'Only with this party').optional(),
      walletId: ArgumentId('wal', 'Only of this wallet').optional(),
      delegated: z
        .enum(['true', 'false'])
        .describe('true: only transactions that agents made for customers; false: all others')
        .optional(),
      customerPartyId: CustomerPartyId,
    }),
    errors: [],
    example: outbound,
  }),

  getTransaction: defineOperation({
    ...read,
    name: 'get_transaction',
    title: 'Read a transaction',
    description: 'Reads one settled movement of money and the payment, transfer or subscription it came from.',
    path: '/transactions/{transactionId}',
    params: z.strictObject({ transactionId: ArgumentId('txn') }),
    query: z.strictObject(actingParty),
    errors: ['not_found'],
    example: outbound,
  }),
} as const
