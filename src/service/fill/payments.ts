import { newId, newSecret, sha256, timestamp } from '../../core/system.ts'
import { refuseWorld } from '../../worlds/invalid-world.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { findExceededLimits } from '../operations/steps/check-spending-limits.ts'
import type { Beneficiary } from '../operations/transfers.ts'
import { funded, type Posting, paid, released, reserved, returned, transferred, wired } from '../rules/ledger.ts'
import type { LimitReason } from '../rules/limits.ts'
import type { PaymentStatus } from '../rules/payments.ts'
import { findApprovalOf, insertApproval, resolveApproval } from '../store/approvals.ts'
import { findPayment, insertPayment, replacePayment, withoutBank } from '../store/payments.ts'
import type { ApprovalRow } from '../store/schema/approvals.ts'
import type { PaymentRow } from '../store/schema/payments.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import { recordArrival } from '../store/transactions.ts'
import type { Path } from './history.ts'
import { mustFind, type WorldBuilder } from './world-builder.ts'

type Payment = NonNullable<WorldParty['payments']>[number]
type Wire = NonNullable<WorldParty['wires']>[number]
type FilePayment = Payment | Wire

/** The plan for a payment or wire in the file: its row, and the wallets between which its money moves. */
interface Plan {
  file: FilePayment
  row: PaymentRow
  from: WalletRow
  /** The recipient's wallet; null for a wire, and for a recipient who is not a party of the world. */
  to: WalletRow | null
  path: Path
}

/** Adds a party's payments, wires, deposits and internal transfers to the history of the world. */
export function planPayments(builder: WorldBuilder, index: number): void {
  const { payments = [], wires = [], deposits = [], internalTransfers = [] } = builder.account(index).party
  for (const [at, payment] of payments.entries())
    planPayment(builder, index, payment, ['parties', index, 'payments', at])
  for (const [at, wire] of wires.entries()) planWire(builder, index, wire, ['parties', index, 'wires', at])
  for (const [at, { id, amount, wallet: name, description, at: when }] of deposits.entries()) {
    const path = ['parties', index, 'deposits', at]
    const wallet = builder.wallet(index, name)
    const row = draft(builder, index, { amount, description, at: when, id }, { kind: 'deposit', wallet, path })
    const posting = funded(wallet.id, amount)
    planCompletedTransfer(builder, { row, wallets: [wallet], posting, path }, wallet)
  }
  for (const [at, { from: fromName, to: toName, ...file }] of internalTransfers.entries()) {
    const path = ['parties', index, 'internalTransfers', at]
    const [from, to] = [builder.wallet(index, fromName), builder.wallet(index, toName)]
    const row = draft(builder, index, file, { kind: 'internal', wallet: from, path })
    const posting = transferred(from.id, to.id, file.amount)
    const moved = { ...row, beneficiary: JSON.stringify({ walletId: to.id }) }
    planCompletedTransfer(builder, { row: moved, wallets: [from, to], posting, path }, null)
  }
}

function planPayment(builder: WorldBuilder, index: number, payment: Payment, path: Path): void {
  const { system } = builder.context
  const wallet = builder.payingWallet(index, payment.wallet, payment.agent)
  const recipient = mustFind(builder.names.recipientOf(index, payment.to))
  const receiver = builder.receiver(recipient)
  const claimant = recipient.kind === 'party' ? null : recipient.address
  const { claimToken = newSecret(system) } = payment
  const row: PaymentRow = {
    ...draft(builder, index, payment, { kind: 'payment', wallet, path }),
    recipientPartyId: receiver?.partyId ?? null,
    recipientAgentId: receiver?.agentId ?? null,
    claimant,
    claimTokenHash: claimant === null ? null : sha256(claimToken),
  }
  planOutgoingPayment(builder, { file: payment, row, from: wallet, to: receiver?.wallet ?? null, path })
}

function planWire(builder: WorldBuilder, index: number, wire: Wire, path: Path): void {
  const wallet = builder.payingWallet(index, wire.wallet, wire.agent)
  const { name, accountNumber, routingNumber } = wire.beneficiary
  const beneficiary: Beneficiary = { name, accountLastFour: accountNumber.slice(-4), routingNumber, address: {} }
  const row = draft(builder, index, wire, { kind: 'wire', wallet, path })
  const wireRow = { ...row, beneficiary: JSON.stringify(beneficiary) }
  planOutgoingPayment(builder, { file: wire, row: wireRow, from: wallet, to: null, path })
}

interface CommonFields {
  id?: string | undefined
  amount: number
  description?: string | undefined
  agent?: string | undefined
  actor?: 'api' | 'user' | undefined
  at?: string | undefined
  tags?: Record<string, string> | undefined
  instanceId?: string | undefined
}

interface Source {
  kind: PaymentRow['kind']
  wallet: WalletRow
  path: Path
}

function draft(builder: WorldBuilder, index: number, file: CommonFields, { kind, wallet, path }: Source): PaymentRow {
  const atMs = builder.past(file.at, builder.context.clockMs, [...path, 'at'])
  const agent = builder.agent(index, file.agent)
  return {
    id: builder.id(kind === 'payment' ? 'pay' : 'tfr', file.id, atMs),
    kind,
    partyId: wallet.partyId,
    walletId: wallet.id,
    actorType: agent === undefined ? (file.actor ?? 'api') : 'agent',
    agentId: agent?.id ?? null,
    instanceId: file.instanceId ?? null,
    ...withoutBank,
    currency: 'USD',
    status: 'CREATED',
    description: file.description ?? null,
    tags: JSON.stringify(file.tags ?? {}),
    recipientPartyId: null,
    recipientAgentId: null,
    claimant: null,
    claimTokenHash: null,
    beneficiary: null,
    transactionId: null,
    delegated: agent !== undefined && agent.placed.party !== index ? 1 : 0,
    version: 1,
    amountCents: file.amount,
    heldCents: 0,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  }
}

interface CompletedTransfer {
  row: PaymentRow
  wallets: readonly WalletRow[]
  posting: Posting
  path: Path
}

/**
 * Adds a deposit or internal transfer, which completes immediately, to the history. `arrivedIn` is the wallet that
 * received the deposit. For an internal transfer it is null, because such a transfer has no transaction record.
 */
function planCompletedTransfer(
  builder: WorldBuilder,
  { row, wallets, posting, path }: CompletedTransfer,
  arrivedIn: WalletRow | null,
): void {
  const { tx, system } = builder.context
  const nowMs = row.createdAtMs
  const apply = async () => {
    const transactionId = arrivedIn && (await recordArrival({ tx, system, nowMs }, row, arrivedIn))
    await insertPayment(tx, { ...row, status: 'COMPLETED', transactionId })
    await builder.post(posting, wallets, nowMs, row.id)
  }
  builder.history.add({ atMs: nowMs, path, postings: [posting], apply })
}

/**
 * Adds a payment or wire to the history: an event for its review or its first status, and a second event if its status
 * changed later.
 */
function planOutgoingPayment(builder: WorldBuilder, plan: Plan): void {
  const { tx } = builder.context
  const { file, row, path } = plan
  const isReviewed = hasReview(plan)
  const atMs = row.createdAtMs
  const endedAtMs = builder.past(file.endedAt, atMs, [...path, 'endedAt'], atMs)
  const add = (whenMs: number, postings: Posting[], apply: () => Promise<void>) =>
    builder.history.add({ atMs: whenMs, path, postings, apply })
  if (isReviewed) {
    add(atMs, [], () => review(builder, plan))
    if (file.status !== 'IN_REVIEW') {
      const postings = postingsTo(plan, file.status)
      add(endedAtMs, postings, () => settle(builder, plan, file.status, postings, endedAtMs))
    }
    return
  }
  const first = firstStatus(file.status)
  const postings = postingsTo(plan, first)
  add(atMs, postings, async () => {
    const inserted = await settlePayment(builder, plan, row, first, atMs)
    await insertPayment(tx, inserted)
    await postAll(builder, plan, postings, atMs)
  })
  if (first === file.status) return
  const back = [
    first === 'PROCESSING' ? returned(plan.from.id, row.amountCents) : released(plan.from.id, row.amountCents),
  ]
  add(endedAtMs, back, () => settle(builder, plan, file.status, back, endedAtMs))
}

/**
 * Returns whether the payment is or was under review. A payment can be canceled only during a review or before its
 * claimant claims it, so a canceled payment without a claimant was under review.
 */
function hasReview({ file, row }: Plan): boolean {
  if (file.approval !== undefined || file.status === 'IN_REVIEW' || file.status === 'APPROVAL_DENIED') return true
  return file.status === 'CANCELED' && row.claimant === null
}

/**
 * Returns the first status of a payment that was not reviewed. `status` is the status that the payment has in the file.
 */
function firstStatus(status: PaymentStatus): PaymentStatus {
  if (status === 'CANCELED') return 'PENDING_CLAIM'
  return status === 'RETURNED' ? 'PROCESSING' : status
}

/** Returns the ledger postings that bring a new payment to the given status. */
function postingsTo({ row, from, to }: Plan, status: PaymentStatus): Posting[] {
  const { amountCents } = row
  if (status === 'PENDING_CLAIM') return [reserved(from.id, amountCents)]
  if (status === 'PROCESSING') return [wired(from.id, amountCents)]
  if (status === 'RETURNED') return [wired(from.id, amountCents), returned(from.id, amountCents)]
  if (status !== 'COMPLETED') return []
  return [to === null ? wired(from.id, amountCents) : paid(from.id, to.id, amountCents)]
}

async function postAll(builder: WorldBuilder, { row, from, to }: Plan, postings: readonly Posting[], nowMs: number) {
  const wallets = to === null ? [from] : [from, to]
  for (const posting of postings) {
    const about = wallets.filter(({ id }) => posting.entries.some(({ walletId }) => walletId === id))
    await builder.post(posting, about, nowMs, row.id)
  }
}

/** Returns the row with the given status. If the status is COMPLETED, also records that the payment's money arrived. */
async function settlePayment(
  { context }: WorldBuilder,
  { to }: Plan,
  row: PaymentRow,
  status: PaymentStatus,
  nowMs: number,
) {
  const { tx, system } = context
  const transactionId = status === 'COMPLETED' ? await recordArrival({ tx, system, nowMs }, row, to) : null
  const heldCents = status === 'PENDING_CLAIM' ? row.amountCents : 0
  return { ...row, status, transactionId, heldCents, updatedAtMs: nowMs }
}

const resolutions: Partial<Record<PaymentStatus, ApprovalRow['status']>> = {
  APPROVAL_DENIED: 'denied',
  CANCELED: 'canceled',
}

/** Gives a pending payment the given status. If the payment has a pending approval, resolves the approval. */
async function settle(builder: WorldBuilder, plan: Plan, status: PaymentStatus, postings: Posting[], nowMs: number) {
  const { tx } = builder.context
  const before = mustFind(await findPayment(tx, plan.row.partyId, plan.row.id))
  await replacePayment(tx, before, await settlePayment(builder, plan, before, status, nowMs))
  const approval = await findApprovalOf(tx, before)
  if (approval?.status === 'pending') {
    const denialReason = plan.file.approval?.denialReason ?? null
    await resolveApproval(tx, approval, before, { status: resolutions[status] ?? 'approved', denialReason, nowMs })
  }
  await postAll(builder, plan, postings, nowMs)
}

async function review(builder: WorldBuilder, plan: Plan): Promise<void> {
  const { tx, system } = builder.context
  const { row, file, path } = plan
  const { id, partyId, walletId, createdAtMs, amountCents, agentId } = row
  const reasons = reasonsOf(file) ?? (await findExceededLimits(tx, { partyId, agentId }, amountCents, createdAtMs))
  if (reasons.length === 0) {
    const reason = `the payment exceeded no limit at ${timestamp(createdAtMs)}`
    refuseWorld([...path, 'status'], `implies a review, but ${reason}: set a lower limit, or give approval.reasons`)
  }
  await insertPayment(tx, { ...row, status: 'IN_REVIEW' })
  const approval: ApprovalRow = {
    id: file.approval?.id ?? newId('apr', system, createdAtMs),
    partyId,
    walletId,
    paymentId: id,
    status: 'pending',
    reasons: JSON.stringify(reasons),
    denialReason: null,
    version: 1,
    createdAtMs,
    updatedAtMs: createdAtMs,
    resolvedAtMs: null,
  }
  await insertApproval(tx, approval, row)
}

function reasonsOf({ approval }: FilePayment): LimitReason[] | undefined {
  return approval?.reasons?.map(({ limit, limitAmount, actualAmount }) => {
    return { type: 'limitExceeded', limitType: limit, limitAmount, actualAmount, currency: 'USD' }
  })
}
