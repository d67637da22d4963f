import type { paymentRequestStatuses } from '../../../../tools/payment-requests.ts'
import type { counterpartyTypes } from '../../../../tools/payments.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A party's request to be paid by another party, or by a person who has no party yet. */
export const paymentRequests = table({
  id: text,
  /** The party that sent the request and receives the money. */
  partyId: text,
  walletId: text,
  agentId: nullable(text),
  instanceId: nullable(text),
  status: text as Column<(typeof paymentRequestStatuses)[number]>,
  amountCents: bigint,
  currency: text as Column<'USD'>,
  description: nullable(text),
  /** JSON object of strings. */
  tags: text,
  payerType: text as Column<(typeof counterpartyTypes)[number]>,
  payerValue: text,
  payerName: nullable(text),
  /** Null while the payer has no party. */
  payerPartyId: nullable(text),
  payerAgentId: nullable(text),
  /** SHA-256 of the token in the URL of the request's page. The token is not stored, but derived from a root key. */
  tokenHash: text,
  /** The payment that fulfills the request; null until the request is paid. */
  paymentId: nullable(text),
  transactionId: nullable(text),
  /** `CardTries` as JSON: the declined attempts to pay by card. Null if no card has been declined. */
  cardTries: nullable(text),
  version: integer,
  expiresAtMs: bigint,
  /** Equals `expiresAtMs` while the request is open; null afterwards. */
  openUntilMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: [
    'partyId status id',
    'partyId walletId status id',
    'payerPartyId status id',
    'payerAgentId status id',
    'payerValue status',
    'id',
  ],
  $uniqueIndexes: ['tokenHash'],
  $namedIndexes: {
    open: '("openUntilMs") where "openUntilMs" is not null',
    party_open: '("partyId", "openUntilMs", "id") where "openUntilMs" is not null',
  },
})

export type PaymentRequestRow = RowOf<typeof paymentRequests>
