import type { z } from 'zod'
import type { Transfer } from '../../../tools/transfers.ts'
import { fail } from '../../errors.ts'
import { timestamp } from '../../system.ts'
import type { Handler } from '../handler.ts'
import { payingWallet, send } from '../money-movement.ts'
import type { PaymentRow } from '../store/payment-tables.ts'

/** Where a wire goes, as it is kept: the account number is cut down to what people recognize it by. */
export interface Beneficiary {
  name: string
  accountLastFour: string
  routingNumber: string
  address: object
}

export const createWire: Handler<'createWire'> = async (input, context) => {
  const { name, accountNumber, routingNumber, address } = input.beneficiary
  // First of all, and never recorded: whoever adds the address goes on with the same key (spec: POST /wire).
  if (address === undefined) {
    fail('wire.beneficiary_address_required', { source: { pointer: '/data/attributes/beneficiary/address' } })
  }
  const beneficiary: Beneficiary = { name, accountLastFour: accountNumber.slice(-4), routingNumber, address }
  const wallet = await payingWallet(context)
  const wire = await send(context, wallet, {
    kind: 'wire',
    amountCents: input.amount,
    currency: input.currency,
    description: input.description ?? null,
    tags: '{}',
    beneficiary: JSON.stringify(beneficiary),
  })
  return transferView(wire)
}

/** How an account is shown to people. */
export function accountMask(beneficiary: string): string {
  return `••••${(JSON.parse(beneficiary) as Beneficiary).accountLastFour}`
}

export function transferView(row: PaymentRow): z.output<typeof Transfer> {
  const deposit = row.kind === 'deposit'
  const doneAt = row.status === 'COMPLETED' ? timestamp(row.updatedAtMs) : null
  return {
    type: 'transfer',
    id: row.id,
    attributes: {
      type: deposit ? 'deposit' : 'withdrawal',
      amount: row.amountCents,
      currency: row.currency,
      status: row.status,
      method: deposit ? 'standard' : 'wire',
      rail: deposit ? null : 'wire',
      description: row.description,
      tags: JSON.parse(row.tags) as Record<string, string>,
      externalAccountDisplayMask: row.beneficiary === null ? null : accountMask(row.beneficiary),
      expectedAvailableAt: null,
      failure: null,
      return: null,
      submittedAt: doneAt,
      settledAt: doneAt,
      agentId: row.agentId,
      instanceId: row.instanceId,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: {
      party: { data: { type: 'party', id: row.partyId } },
      wallet: { data: { type: 'wallet', id: row.walletId } },
      destWallet: { data: null },
      externalAccount: { data: null },
      transaction: { data: row.transactionId === null ? null : { type: 'transaction', id: row.transactionId } },
    },
  }
}
