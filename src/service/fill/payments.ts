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

/** A payment or wire in the file. */
interface OutgoingPayment {
  file: FilePayment
  row: PaymentRow
  from: WalletRow
  /** The recipient's wallet; null if the money goes to a bank or to a recipient outside the world. */
  to: WalletRow | null
  path: Path
}

/** Plans a party's payments, wires, deposits and internal transfers. */
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

interface DraftOptions {
  kind: PaymentRow['kind']
  wallet: WalletRow
  path: Path
}

function draft(
  builder: WorldBuilder,
  index: number,
  file: CommonFields,
  { kind, wallet, path }: DraftOptions,
): PaymentRow {
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

/** Plans a transfer that completes immediately. A deposit is also recorded as a transaction. */
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

/** Plans a payment or wire, with its review, if any, and its outcome. */
function planOutgoingPayment(builder: WorldBuilder, outgoing: OutgoingPayment): void {
  const { tx } = builder.context
  const { file, row, path } = outgoing
  const isReviewed = hasReview(outgoing)
  const atMs = row.createdAtMs
  const endedAtMs = builder.past(file.endedAt, atMs, [...path, 'endedAt'], atMs)
  const add = (whenMs: number, postings: Posting[], apply: () => Promise<void>) =>
    builder.history.add({ atMs: whenMs, path, postings, apply })
  if (isReviewed) {
    add(atMs, [], () => review(builder, outgoing))
    if (file.status !== 'IN_REVIEW') {
      const postings = postingsTo(outgoing, file.status)
      add(endedAtMs, postings, () => settle(builder, outgoing, file.status, postings, endedAtMs))
    }
    return
  }
  const first = firstStatus(file.status)
  const postings = postingsTo(outgoing, first)
  add(atMs, postings, async () => {
    const inserted = await settlePayment(builder, outgoing, row, first, atMs)
    await insertPayment(tx, inserted)
    await postAll(builder, outgoing, postings, atMs)
  })
  if (first === file.status) return
  const back = [
    first === 'PROCESSING' ? returned(outgoing.from.id, row.amountCents) : released(outgoing.from.id, row.amountCents),
  ]
  add(endedAtMs, back, () => settle(builder, outgoing, file.status, back, endedAtMs))
}

/**
 * Returns whether the payment was under review. Only payments that wait for a review or a claim can be canceled, so a
 * canceled payment without a claimant was under review.
 */
function hasReview({ file, row }: OutgoingPayment): boolean {
  if (file.approval !== undefined || file.status === 'IN_REVIEW' || file.status === 'APPROVAL_DENIED') return true
  return file.status === 'CANCELED' && row.claimant === null
}

/** Returns the first status of a payment that was never under review. */
function firstStatus(status: PaymentStatus): PaymentStatus {
  if (status === 'CANCELED') return 'PENDING_CLAIM'
  return status === 'RETURNED' ? 'PROCESSING' : status
}

/** Returns the postings that a new payment needs to reach the status. */
function postingsTo({ row, from, to }: OutgoingPayment, status: PaymentStatus): Posting[] {
  const { amountCents } = row
  if (status === 'PENDING_CLAIM') return [reserved(from.id, amountCents)]
  if (status === 'PROCESSING') return [wired(from.id, amountCents)]
  if (status === 'RETURNED') return [wired(from.id, amountCents), returned(from.id, amountCents)]
  if (status !== 'COMPLETED') return []
  return [to === null ? wired(from.id, amountCents) : paid(from.id, to.id, amountCents)]
}

async function postAll(
  builder: WorldBuilder,
  { row, from, to }: OutgoingPayment,
  postings: readonly Posting[],
  nowMs: number,
) {
  const wallets = to === null ? [from] : [from, to]
  for (const posting of postings) {
    const about = wallets.filter(({ id }) => posting.entries.some(({ walletId }) => walletId === id))
    await builder.post(posting, about, nowMs, row.id)
  }
}

/** Returns the row with a new status. If the payment is now completed, also records the arrival of its money. */
async function settlePayment(
  { context }: WorldBuilder,
  { to }: OutgoingPayment,
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

/** Gives a waiting payment the status that it has when the world begins. */
async function settle(
  builder: WorldBuilder,
  outgoing: OutgoingPayment,
  status: PaymentStatus,
  postings: Posting[],
  nowMs: number,
) {
  const { tx } = builder.context
  const before = mustFind(await findPayment(tx, outgoing.row.partyId, outgoing.row.id))
  await replacePayment(tx, before, await settlePayment(builder, outgoing, before, status, nowMs))
  const approval = await findApprovalOf(tx, before)
  if (approval?.status === 'pending') {
    const denialReason = outgoing.file.approval?.denialReason ?? null
    await resolveApproval(tx, approval, before, { status: resolutions[status] ?? 'approved', denialReason, nowMs })
  }
  await postAll(builder, outgoing, postings, nowMs)
}

async function review(builder: WorldBuilder, outgoing: OutgoingPayment): Promise<void> {
  const { tx, system } = builder.context
  const { row, file, path } = outgoing
  const { id, partyId, walletId, createdAtMs, amountCents, agentId } = row
  const reasons = reasonsOf(file) ?? (await findExceededLimits(tx, { partyId, agentId }, amountCents, createdAtMs))
  if (reasons.length === 0) {
    const why = `it exceeds no limit in the file at ${timestamp(createdAtMs)}`
    refuseWorld([...path, 'status'], `could not be reviewed, because ${why}: set a limit, or give approval.reasons`)
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
