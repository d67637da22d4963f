import type { z } from 'zod'
import type { Transfer, transfers } from '../../../tools/transfers.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import { type Context, type HandlersOf, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { requireWalletPermission } from '../request/permission-checks.ts'
import { rails } from '../rules/bank-transfers.ts'
import { funded } from '../rules/ledger.ts'
import type { BankReason } from '../rules/test-bank.ts'
import { isConnected } from '../store/delegations.ts'
import { post } from '../store/ledger.ts'
import { findPayment, insertPayment, listTransfers, withoutBank } from '../store/payments.ts'
import type { PaymentRow } from '../store/schema/payments.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import { recordArrival } from '../store/transactions.ts'
import { defaultWallet, findWallet } from '../store/wallets.ts'
import type { BankAccount } from './steps/bank-transfers.ts'
import { moveBetweenOwnWallets, payingWallet, send } from './steps/move-money.ts'

/** The recipient of a wire. */
export interface Beneficiary extends BankAccount {
  routingNumber: string
  address: object
}

export const transferHandlers = {
  createWire: async (input, context) => {
    const { name, accountNumber, routingNumber, address } = input.beneficiary
    // A wire without an address is refused before anything happens, and the refusal is not recorded under the
    // idempotency key. The caller can therefore add the address and retry with the same key (docs/service.md#wires).
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
  },

  createInternalTransfer: async (input, context) => {
    const from = await loadPermittedWallet(context, 'sourceWalletId', input.sourceWalletId)
    const to = await loadPermittedWallet(context, 'destWalletId', input.destWalletId)
    if (from.id === to.id) failAttribute('destWalletId', 'destWalletId must not be the same wallet as sourceWalletId.')
    const transfer = await moveBetweenOwnWallets(context, [from, to], {
      amountCents: input.amount,
      currency: from.currency,
      description: input.description ?? null,
      tags: JSON.stringify(input.tags ?? {}),
    })
    return transferView(transfer)
  },

  listTransfers: async (input, context) => {
    const scope = walletListScope(context)
    const list = { list: 'transfers', ...scope }
    return page(await listTransfers(context.tx, scope, pageRequest(input, list)), list, transferView)
  },

  getTransfer: async ({ transferId }, context) => {
    const { tx, actor, operation, partyId } = context
    const row = await findPayment(tx, partyId, transferId)
    if (row === undefined || row.kind === 'payment') {
      fail('not_found', { detail: `There is no transfer ${transferId}.` })
    }
    await requireWalletPermission(tx, actor, operation, { id: row.walletId, partyId })
    return transferView(row)
  },

  fundSandboxWallet: async (input, context) => {
    const { tx, system, nowMs, actor, instanceId } = context
    await requireConnected(context, input.customerId)
    const { customerId: partyId, walletId } = input
    const wallet = walletId === undefined ? await defaultWallet(tx, partyId) : await findWallet(tx, partyId, walletId)
    if (wallet === undefined) {
      const source = walletId === undefined ? {} : { source: { pointer: '/data/attributes/walletId' } }
      fail('not_found', { detail: `There is no wallet ${walletId ?? 'to deposit into'}.`, ...source })
    }
    if (wallet.status !== 'active') fail('conflict', { detail: `The wallet ${wallet.id} is ${wallet.status}.` })
    const deposit: PaymentRow = {
      ...withoutBank,
      id: newId('tfr', system, nowMs),
      kind: 'deposit',
      partyId,
      walletId: wallet.id,
      delegated: partyId === actor.partyId ? 0 : 1,
      actorType: actor.actorType === 'party' ? 'api' : actor.actorType,
      agentId: actor.agentId,
      instanceId,
      amountCents: input.amount,
      currency: input.currency,
      status: 'COMPLETED',
      description: 'Sandbox deposit',
      tags: '{}',
      recipientPartyId: null,
      recipientAgentId: null,
      claimant: null,
      claimTokenHash: null,
      heldCents: 0,
      beneficiary: null,
      transactionId: null,
      version: 1,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    const row = { ...deposit, transactionId: await recordArrival(context, deposit, wallet) }
    await insertPayment(tx, row)
    await post(tx, system, wallet, funded(wallet.id, input.amount), { nowMs, sourceId: row.id })
    return transferView(row)
  },
} satisfies HandlersOf<typeof transfers>

/**
 * Returns a wallet of the party `context.partyId`.
 * @throws 404 if the party has no such wallet, 403 if an agent lacks the permission on the wallet.
 */
async function loadPermittedWallet(context: Context, attribute: string, walletId: string): Promise<WalletRow> {
  const { tx, actor, operation, partyId } = context
  const wallet = await findWallet(tx, partyId, walletId)
  if (wallet === undefined) {
    const source = { pointer: `/data/attributes/${attribute}` }
    fail('not_found', { detail: `There is no wallet ${walletId}.`, source })
  }
  await requireWalletPermission(tx, actor, operation, wallet)
  return wallet
}

/** Returns a bank account's number, masked except for its last four digits. */
export function accountMask(beneficiary: string): string {
  return `••••${(JSON.parse(beneficiary) as BankAccount).accountLastFour}`
}

function destWalletOf({ id, beneficiary }: PaymentRow) {
  if (beneficiary === null) throw new Error(`Bug: the internal transfer ${id} has no destination wallet.`)
  return { type: 'wallet' as const, id: (JSON.parse(beneficiary) as { walletId: string }).walletId }
}

export function transferView(row: PaymentRow): z.output<typeof Transfer> {
  const { status, settledAtMs, failure, returned } = row
  const timeOrNull = (ms: number | null) => (ms === null ? null : timestamp(ms))
  // A transfer without a linked bank account is never updated after it completes, so its last update is its completion.
  const doneAt = status === 'COMPLETED' ? timestamp(row.updatedAtMs) : null
  const isAtBank = row.externalAccountId !== null
  return {
    type: 'transfer',
    id: row.id,
    attributes: {
      type: row.kind === 'wire' ? 'withdrawal' : typeOf(row),
      amount: row.amountCents,
      currency: row.currency,
      status,
      ...methodAndRail(row),
      description: row.description,
      tags: JSON.parse(row.tags) as Record<string, string>,
      expectedAvailableAt: timeOrNull(status === 'PROCESSING' ? row.bankDueAtMs : settledAtMs),
      failure: failure === null ? null : (JSON.parse(failure) as BankReason),
      return: returned === null ? null : returnView(returned),
      submittedAt: isAtBank ? timeOrNull(row.submittedAtMs) : doneAt,
      settledAt: isAtBank ? timeOrNull(settledAtMs) : doneAt,
      agentId: row.agentId,
      instanceId: row.instanceId,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: {
      party: { data: { type: 'party', id: row.partyId } },
      wallet: { data: { type: 'wallet', id: row.walletId } },
      destWallet: { data: row.kind === 'internal' ? destWalletOf(row) : null },
      externalAccount: {
        data: row.externalAccountId === null ? null : { type: 'externalAccount', id: row.externalAccountId },
      },
      transaction: { data: row.transactionId === null ? null : { type: 'transaction', id: row.transactionId } },
    },
  }
}

function typeOf({ id, kind }: PaymentRow): 'deposit' | 'withdrawal' | 'internal' {
  if (kind === 'payment' || kind === 'wire') throw new Error(`Bug: ${id} is not a transfer.`)
  return kind
}

/** Returns a transfer's method, its rail and its masked account number. */
function methodAndRail({ kind, method, beneficiary }: PaymentRow) {
  const mask = beneficiary === null || kind === 'internal' ? null : accountMask(beneficiary)
  if (kind === 'wire') return { method: 'wire', rail: 'wire', externalAccountDisplayMask: mask }
  if (kind === 'internal') return { method: null, rail: null, externalAccountDisplayMask: null }
  const bank = method === 'standard' || method === 'instant' || method === 'wire' ? method : null
  return {
    method: bank ?? 'standard',
    rail: bank === null ? null : rails[bank],
    externalAccountDisplayMask: mask,
  }
}

function returnView(returned: string) {
  const { code, reason, returnedAtMs } = JSON.parse(returned) as BankReason & { returnedAtMs: number }
  return { code, reason, returnedAt: timestamp(returnedAtMs) }
}

/** Requires that the party is the caller's own or a connected customer. @throws 404 for any other party. */
async function requireConnected({ tx, actor }: Context, partyId: string): Promise<void> {
  if (partyId === actor.partyId) return
  if (await isConnected(tx, actor, partyId)) return
  fail('not_found', { detail: `There is no connected customer ${partyId}.` })
}
