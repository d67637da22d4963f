import type { paymentRequestStatuses } from '../../../../tools/payment-requests.ts'
import type { counterpartyTypes } from '../../../../tools/payments.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** Money that a party asks another for, or somebody who is not known yet. */
export const paymentRequests = table({
  id: text,
  /** Who asks, and is paid. */
  partyId: text,
  walletId: text,
  agentId: nullable(text),
  instanceId: nullable(text),
  status: text as Column<(typeof paymentRequestStatuses)[number]>,
  amountCents: bigint,
  currency: text as Column<'USD'>,
  description: nullable(text),
  /** JSON object of texts. */
  tags: text,
  payerType: text as Column<(typeof counterpartyTypes)[number]>,
  payerValue: text,
  payerName: nullable(text),
  /** Null while nobody known is asked. */
  payerPartyId: nullable(text),
  payerAgentId: nullable(text),
  /** SHA-256 of the token in the address of its page, which is derived and not stored. */
  tokenHash: text,
  /** The payment that fulfills it; null while nobody pays. */
  paymentId: nullable(text),
  transactionId: nullable(text),
  /** JSON of `CardTries`; null: no card of the payer's was declined. */
  cardTries: nullable(text),
  version: integer,
  expiresAtMs: bigint,
  /** `expiresAtMs` while it is open. */
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
