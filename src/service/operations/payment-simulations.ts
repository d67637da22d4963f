import { fail } from '../../core/errors.ts'
import { newId } from '../../core/system.ts'
import type { Context, Handler } from '../request/handler.ts'
import { claimed, funded } from '../rules/ledger.ts'
import { nextPaymentStatus } from '../rules/payments.ts'
import { findPartyByAddress, isConnected } from '../store/counterparties.ts'
import { findPayment, insertPayment, replacePayment } from '../store/payments.ts'
import { createParty } from '../store/provision.ts'
import type { PaymentRow } from '../store/schema/payment-tables.ts'
import type { WalletRow } from '../store/schema/tables.ts'
import { defaultWallet, findWallet, post, postBetween } from '../store/wallets.ts'
import { arrived } from './money-movement.ts'
import { paymentView } from './payments.ts'
import { transferView } from './transfers.ts'

/** The recipient joins, unless somebody with that address has meanwhile, and takes what was put aside. */
export const simulatePaymentClaim: Handler<'simulatePaymentClaim'> = async ({ paymentId }, context) => {
  const { tx, system, nowMs } = context
  const before = await loadSentBy(context, paymentId)
  const status = nextPaymentStatus(before.status, 'claim')
  const from = await findWallet(tx, before.partyId, before.walletId)
  if (from === undefined) throw new Error(`Bug: the wallet ${before.walletId} of a payment is gone.`)
  const to = await claimantsWallet(context, before)
  const posting = claimed(from.id, to.id, before.heldCents)
  await postBetween(tx, system, [from, to], [{ posting, nowMs, sourceId: before.id }])
  const after = await replacePayment(tx, before, {
    ...before,
    status,
    heldCents: 0,
    recipientPartyId: to.partyId,
    transactionId: await arrived(context, before, to),
    updatedAtMs: nowMs,
  })
  return paymentView(after, before.partyId)
}

export const fundSandboxWallet: Handler<'fundSandboxWallet'> = async (input, context) => {
  const { tx, system, nowMs, actor, instanceId } = context
  await requireConnected(context, input.customerId)
  const { customerId: partyId, walletId } = input
  const wallet = walletId === undefined ? await defaultWallet(tx, partyId) : await findWallet(tx, partyId, walletId)
  if (wallet === undefined) {
    const source = walletId === undefined ? {} : { source: { pointer: '/data/attributes/walletId' } }
    fail('not_found', { detail: `There is no wallet ${walletId ?? 'to deposit in'}.`, ...source })
  }
  if (wallet.status !== 'active') fail('conflict', { detail: `The wallet ${wallet.id} is ${wallet.status}.` })
  const deposit: PaymentRow = {
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
  const row = { ...deposit, transactionId: await arrived(context, deposit, wallet) }
  await insertPayment(tx, row)
  await post(tx, system, wallet, funded(wallet.id, input.amount), { nowMs, sourceId: row.id })
  return transferView(row)
}

/** The party's own, or an agent's own on behalf of a customer. */
async function loadSentBy({ tx, actor }: Context, id: string): Promise<PaymentRow> {
  const payment = await findPayment(tx, id)
  const own = payment?.partyId === actor.partyId || (actor.agentId !== null && payment?.agentId === actor.agentId)
  if (payment?.kind !== 'payment' || !own) fail('not_found', { detail: `There is no payment ${id}.` })
  return payment
}

async function claimantsWallet({ tx, system, nowMs }: Context, payment: PaymentRow): Promise<WalletRow> {
  const { claimant } = payment
  if (claimant === null) throw new Error(`Bug: the payment ${payment.id} waits for nobody.`)
  // Two payments to one address that are claimed at once make one party.
  await tx.lock(`claimant ${claimant}`)
  const type = claimant.includes('@') ? 'email' : 'phone'
  const known = await findPartyByAddress(tx, type, claimant)
  if (known === undefined) {
    const address = type === 'email' ? { email: claimant } : { email: null, phone: claimant }
    const party = { partyType: 'PERSON', displayName: claimant, issuedCardsEnabled: 1, createdAtMs: nowMs } as const
    return createParty(tx, system, { ...party, ...address, id: newId('pty', system, nowMs) }, 0)
  }
  const wallet = known.id === payment.partyId ? undefined : await defaultWallet(tx, known.id)
  if (wallet?.status !== 'active') fail('conflict', { detail: 'The recipient cannot be paid now.' })
  return wallet
}

/** Money can be put in one's own wallets and in those of customers who are connected. @throws 404 else. */
async function requireConnected({ tx, actor }: Context, partyId: string): Promise<void> {
  if (partyId === actor.partyId) return
  if (await isConnected(tx, actor, partyId)) return
  fail('not_found', { detail: `There is no connected customer ${partyId}.` })
}
