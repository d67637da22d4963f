import type { z } from 'zod'
import type { Transfer } from '../../../tools/transfers.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import { requireHeldOnWallet } from '../request/actor.ts'
import { type Context, type Handler, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { findPayment, listTransfers as transfersOf } from '../store/payments.ts'
import type { PaymentRow } from '../store/schema/payment-tables.ts'
import type { WalletRow } from '../store/schema/tables.ts'
import { findWallet } from '../store/wallets.ts'
import { moveWithin, payingWallet, send } from './money-movement.ts'

/** Where a wire goes, as it is kept: the account number is cut down to what people recognize it by. */
export interface Beneficiary {
  name: string
  accountLastFour: string
  routingNumber: string
  address: object
}

export const createWire: Handler<'createWire'> = async (input, context) => {
  const { name, accountNumber, routingNumber, address } = input.beneficiary
  // First of all, and never recorded: whoever adds the address goes on with the same key (docs/service.md#wires).
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

export const createInternalTransfer: Handler<'createInternalTransfer'> = async (input, context) => {
  const from = await loadNamed(context, 'sourceWalletId', input.sourceWalletId)
  const to = await loadNamed(context, 'destWalletId', input.destWalletId)
  if (from.id === to.id) failAttribute('destWalletId', 'destWalletId must be another wallet than sourceWalletId.')
  const transfer = await moveWithin(context, [from, to], {
    amountCents: input.amount,
    currency: from.currency,
    description: input.description ?? null,
    tags: JSON.stringify(input.tags ?? {}),
  })
  return transferView(transfer)
}

export const listTransfers: Handler<'listTransfers'> = async (input, context) => {
  const scope = walletListScope(context)
  const list = { list: 'transfers', ...scope }
  return page(await transfersOf(context.tx, scope, pageRequest(input, list)), list, transferView)
}

export const getTransfer: Handler<'getTransfer'> = async ({ transferId }, context) => {
  const { tx, actor, operation, partyId } = context
  const row = await findPayment(tx, transferId)
  if (row === undefined || row.kind === 'payment' || row.partyId !== partyId) {
    fail('not_found', { detail: `There is no transfer ${transferId}.` })
  }
  await requireHeldOnWallet(tx, actor, operation, { id: row.walletId, partyId })
  return transferView(row)
}

/** A wallet of the party that an attribute names, on which an agent holds the permission. @throws 404, 403. */
async function loadNamed(context: Context, attribute: string, walletId: string): Promise<WalletRow> {
  const { tx, actor, operation, partyId } = context
  const wallet = await findWallet(tx, partyId, walletId)
  if (wallet === undefined) {
    const source = { pointer: `/data/attributes/${attribute}` }
    fail('not_found', { detail: `There is no wallet ${walletId}.`, source })
  }
  await requireHeldOnWallet(tx, actor, operation, wallet)
  return wallet
}

/** How an account is shown to people. */
export function accountMask(beneficiary: string): string {
  return `••••${(JSON.parse(beneficiary) as Beneficiary).accountLastFour}`
}

function destWalletOf({ id, beneficiary }: PaymentRow) {
  if (beneficiary === null) throw new Error(`Bug: the internal transfer ${id} goes nowhere.`)
  return { type: 'wallet' as const, id: (JSON.parse(beneficiary) as { walletId: string }).walletId }
}

export function transferView(row: PaymentRow): z.output<typeof Transfer> {
  const wire = row.kind === 'wire'
  const doneAt = row.status === 'COMPLETED' ? timestamp(row.updatedAtMs) : null
  return {
    type: 'transfer',
    id: row.id,
    attributes: {
      type: wire ? 'withdrawal' : row.kind === 'deposit' ? 'deposit' : 'internal',
      amount: row.amountCents,
      currency: row.currency,
      status: row.status,
      method: wire ? 'wire' : row.kind === 'deposit' ? 'standard' : null,
      rail: wire ? 'wire' : null,
      description: row.description,
      tags: JSON.parse(row.tags) as Record<string, string>,
      externalAccountDisplayMask: wire && row.beneficiary !== null ? accountMask(row.beneficiary) : null,
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
      destWallet: { data: row.kind === 'internal' ? destWalletOf(row) : null },
      externalAccount: { data: null },
      transaction: { data: row.transactionId === null ? null : { type: 'transaction', id: row.transactionId } },
    },
  }
}
