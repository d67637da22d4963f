import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation, simulationOperation } from './kinds.ts'
import {
  ArgumentId,
  Cents,
  CentsOrZero,
  Currency,
  CustomerPartyId,
  cause,
  Id,
  listQuery,
  Merchant,
  RequestedCents,
  RequestedCurrency,
  resource,
  Timestamp,
  toOne,
  WaitSeconds,
} from './schemas.ts'

export const cardTransactionStatuses = [
  'authorized',
  'declined',
  'captured',
  'partially_captured',
  'reversed',
  'refunded',
] as const

/** The decline codes of purchases, each with the message for the caller (docs/service.md#card-declines). */
export const declines = {
  single_use_card_expired: 'The card has expired. Issue a new card.',
  single_use_card_used: 'The card already made its one purchase. Issue a new card.',
  single_use_amount_over_maximum:
    "The amount is above the card's maximum. Authorize less, or issue a card with a higher maximum.",
  insufficient_funds: 'The wallet does not have the amount available. Authorize less, or fund the wallet.',
} as const

export type DeclineCode = keyof typeof declines

/** A purchase or refund on an issued card (docs/service.md#card-transaction-status). Amounts are in cents. */
export const CardTransaction = resource(
  'cardTransaction',
  Id('cit'),
  {
    kind: z.enum(['purchase', 'refund']),
    status: z.enum(cardTransactionStatuses),
    amount: Cents,
    currency: Currency,
    merchant: z.object({ name: z.string() }),
    held: CentsOrZero.describe('Part of the amount still on hold'),
    captured: CentsOrZero,
    refunded: CentsOrZero,
    decline: z.object({ code: z.enum(Object.keys(declines) as DeclineCode[]), detail: z.string() }).nullable(),
    holdExpiresAt: Timestamp.nullable(),
    ...cause,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    agentCard: toOne('agentCard', 'pcd'),
    purchase: toOne('cardTransaction', 'cit'),
    party: toOne('party', 'pty'),
    wallet: toOne('wallet', 'wal'),
  },
)

const transactionParams = z.strictObject({ cardTransactionId: ArgumentId('cit') })
const customerArguments = z.strictObject({ customerPartyId: CustomerPartyId })
const amountArguments = z.strictObject({
  amount: RequestedCents,
  currency: RequestedCurrency,
  customerPartyId: CustomerPartyId,
})

const read = {
  ...readOperation,
  output: CardTransaction,
  permission: 'cards.read',
  toolsets: ['default'],
  extension: false,
} as const

const simulation = {
  ...simulationOperation,
  output: CardTransaction,
  permission: 'cards.simulate',
  toolsets: ['default'],
  extension: false,
} as const

const captured = { attributes: { status: 'captured', held: 0, captured: 4_250, holdExpiresAt: null } } as const
const reversed = { attributes: { status: 'reversed', held: 0, holdExpiresAt: null } } as const

export const cardTransactions = {
  getCardTransaction: defineOperation({
    ...read,
    name: 'get_card_transaction',
    title: 'Read a card transaction',
    description: 'Reads a card purchase or refund: amounts held, captured and refunded, or why it was declined.',
    path: '/card-transactions/{cardTransactionId}',
    params: transactionParams,
    query: z.strictObject({ customerPartyId: CustomerPartyId, waitSeconds: WaitSeconds }),
    errors: ['not_found'],
    example: captured,
  }),

  listCardTransactions: defineOperation({
    ...read,
    result: 'page',
    name: 'list_card_transactions',
    title: 'List card transactions',
    description: 'Lists card purchases and refunds, newest first.',
    path: '/card-transactions',
    query: listQuery({
      cardId: ArgumentId('pcd', 'Only on this card').optional(),
      status: z.enum(cardTransactionStatuses).describe('Only this status').optional(),
      customerPartyId: CustomerPartyId,
    }),
    errors: [],
    extension: true,
  }),

  simulateCardAuthorization: defineOperation({
    ...simulation,
    name: 'simulate_card_authorization',
    title: 'Authorize a card purchase',
    description: 'Charges a card as the merchant: authorized (a hold) or declined. Next: capture, reverse or expire.',
    path: '/simulations/agent-cards/{cardId}/authorize',
    params: z.strictObject({ cardId: ArgumentId('pcd') }),
    attributes: z.strictObject({
      amount: RequestedCents,
      currency: RequestedCurrency,
      merchant: Merchant,
      customerPartyId: CustomerPartyId,
    }),
    errors: ['not_found', 'service_unavailable'],
  }),

  simulateCardCapture: defineOperation({
    ...simulation,
    name: 'simulate_card_capture',
    title: 'Capture a card purchase',
    description: 'Captures all or part of an authorized purchase as the merchant; the rest is released.',
    path: '/simulations/card-transactions/{cardTransactionId}/capture',
    params: transactionParams,
    attributes: amountArguments,
    setsState: true,
    errors: ['not_found', 'card_purchase_simulation_not_allowed'],
    example: captured,
  }),

  simulateCardReversal: defineOperation({
    ...simulation,
    name: 'simulate_card_reversal',
    title: 'Reverse a card purchase',
    description: 'Undoes an authorized purchase: releases the hold. After capture: simulate_card_refund.',
    path: '/simulations/card-transactions/{cardTransactionId}/reverse',
    params: transactionParams,
    attributes: customerArguments,
    setsState: true,
    errors: ['not_found', 'card_purchase_simulation_not_allowed'],
    example: reversed,
  }),

  simulateCardExpiration: defineOperation({
    ...simulation,
    name: 'simulate_card_expiration',
    title: 'Expire a card authorization',
    description: 'Lets an authorization expire: the hold is released.',
    path: '/simulations/card-transactions/{cardTransactionId}/expire',
    params: transactionParams,
    attributes: customerArguments,
    setsState: true,
    errors: ['not_found', 'card_purchase_simulation_not_allowed'],
    example: reversed,
  }),

  simulateCardRefund: defineOperation({
    ...simulation,
    name: 'simulate_card_refund',
    title: 'Refund a card purchase',
    description: 'Refunds all or part of a captured purchase. Before capture: simulate_card_reversal.',
    path: '/simulations/card-transactions/{cardTransactionId}/refund',
    params: transactionParams,
    attributes: amountArguments,
    errors: ['not_found', 'card_purchase_simulation_not_allowed'],
    example: {
      attributes: { kind: 'refund', status: 'refunded', held: 0, refunded: 4_250, holdExpiresAt: null },
      relationships: { purchase: { data: { type: 'cardTransaction', id: 'cit_0198a1b2c3d40123456789abcdef0000' } } },
    },
  }),
} as const
