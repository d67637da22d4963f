import type { z } from 'zod'
import { type Approval, approvalPagePath, type approvals } from '../../../tools/approvals.ts'
import { fail } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import { type Context, type HandlersOf, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { requireWalletPermission } from '../request/permission-checks.ts'
import { requireSimulatable } from '../request/simulated-party.ts'
import { nextApprovalStatus, requireMayApprove, requireRecentMfa } from '../rules/approvals.ts'
import type { LimitReason } from '../rules/limits.ts'
import { nextPaymentStatus } from '../rules/payments.ts'
import { findAgentOfAnyParty } from '../store/agents.ts'
import { findApproval, findDelegatedApproval, listApprovals, resolveApproval } from '../store/approvals.ts'
import type { Transaction } from '../store/engine/store.ts'
import { findParty } from '../store/parties.ts'
import { findPayment, replacePayment } from '../store/payments.ts'
import type { ApprovalRow } from '../store/schema/approvals.ts'
import type { PaymentRow } from '../store/schema/payments.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import { findUser } from '../store/users.ts'
import { findWallet } from '../store/wallets.ts'
import { newChallenge } from '../tokens/mfa-challenges.ts'
import { mailClaimant } from './steps/mail-people.ts'
import { move } from './steps/move-money.ts'
import { accountMask, type Beneficiary } from './transfers.ts'

type ApprovalResource = z.output<typeof Approval>

export const approvalHandlers = {
  listApprovals: async (input, context) => {
    const scope = walletListScope(context)
    const { status } = input
    const list = { list: 'approvals', ...scope, status }
    const rows = await listApprovals(context.tx, scope, status, pageRequest(input, list))
    const views: ApprovalResource[] = []
    for (const row of rows.rows) views.push(await approvalView(context.tx, row))
    return page({ rows: views, lastId: rows.lastId }, list, (approval) => approval)
  },

  getApproval: async ({ approvalId }, context) => approvalView(context.tx, (await load(context, approvalId)).approval),

  approveApproval: async ({ approvalId }, context) => {
    const { tx, actor, nowMs } = context
    const { approval, payment, wallet } = await load(context, approvalId)
    requireMayApprove(actor.actorType, payment.actorType)
    const status = nextApprovalStatus(approval.status, 'approve')
    if (actor.userId !== null) {
      const verifiedAtMs = (await findUser(tx, actor.userId))?.mfaVerifiedAtMs ?? null
      const verifyAt = await newVerificationUrl(context, actor.userId)
      requireRecentMfa({ amountCents: payment.amountCents, verifiedAtMs, nowMs, verifyAt })
    }
    return approve(context, { approval, payment, wallet }, status)
  },

  denyApproval: async ({ approvalId, reason }, context) => deny(context, await load(context, approvalId), reason),

  simulateCustomerApproval: async ({ approvalId }, context) => {
    const approval = await loadForSimulation(context, approvalId)
    return approve(context, approval, nextApprovalStatus(approval.approval.status, 'approve'))
  },

  simulateCustomerDenial: async ({ approvalId, reason }, context) =>
    deny(context, await loadForSimulation(context, approvalId), reason),
} satisfies HandlersOf<typeof approvals>

interface Records {
  approval: ApprovalRow
  payment: PaymentRow
  wallet: WalletRow
}

async function approve(context: Context, { approval, payment, wallet }: Records, status: ApprovalRow['status']) {
  const { tx, nowMs } = context
  await recordDecision(context, { approval, payment }, 'agreed')
  const moved = await replacePayment(tx, payment, await move(context, payment, wallet))
  await mailClaimant(context, moved)
  return approvalView(tx, await resolveApproval(tx, approval, payment, { status, denialReason: null, nowMs }))
}

async function deny(context: Context, { approval, payment }: Records, reason: string | undefined) {
  const { tx, nowMs } = context
  await recordDecision(context, { approval, payment }, 'disagreed')
  const status = nextApprovalStatus(approval.status, 'deny')
  const denied = { ...payment, status: nextPaymentStatus(payment.status, 'deny'), updatedAtMs: nowMs }
  await replacePayment(tx, payment, denied)
  return approvalView(tx, await resolveApproval(tx, approval, payment, { status, denialReason: reason ?? null, nowMs }))
}

/** Records the decision in the log of the agent run that requested the payment. */
async function recordDecision(
  context: Context,
  { approval, payment }: Omit<Records, 'wallet'>,
  outcome: 'agreed' | 'disagreed',
) {
  const { tx, operation } = context
  const agent = payment.agentId === null ? undefined : await findAgentOfAnyParty(tx, { id: payment.agentId })
  const partyId = agent?.partyId ?? payment.partyId
  context.afterCommit.reportedEntries.push({
    partyId,
    agentId: payment.agentId,
    instanceId: payment.instanceId,
    kind: 'decision',
    outcome,
    operation: operation.name,
    amountCents: payment.amountCents,
    remark: `${await describeDecider(context, partyId)} decided.`,
    resourceIds: [approval.id, payment.id],
  })
}

/**
 * Describes who decided, for the run log of the party `partyId`. If another party decided, the description names that
 * party, but not its user or agent.
 */
async function describeDecider({ tx, actor, operation }: Context, partyId: string): Promise<string> {
  if (operation.environments.every((environment) => environment === 'sandbox'))
    return 'The sandbox, on behalf of the customer,'
  if (actor.partyId !== partyId)
    return `${(await findParty(tx, actor.partyId))?.displayName ?? 'The customer'}, the customer,`
  const user = actor.userId === null ? undefined : await findUser(tx, actor.userId)
  return user === undefined ? 'An API key of the account' : `${user.name} (${user.email})`
}

/**
 * Loads the approval of a customer's payment, which the caller may decide in a simulation. An agent of the caller's
 * party must have requested the payment. If the caller is an agent, it must have requested the payment itself.
 * @throws 404 for any other approval, 409 if the caller may not simulate the customer.
 */
async function loadForSimulation(context: Context, id: string): Promise<Records> {
  const { tx, actor } = context
  const approval = await findDelegatedApproval(tx, { id, agentPartyId: actor.partyId })
  const payment = approval === undefined ? undefined : await paymentOf(tx, approval)
  const isOwn = actor.agentId === null || payment?.agentId === actor.agentId
  if (approval === undefined || payment === undefined || !isOwn) {
    fail('not_found', { detail: `None of your customers has an approval ${id} that you can decide.` })
  }
  await requireSimulatable(context, approval.partyId, {
    call: 'Send approve_approval or deny_approval with a credential of that party.',
    page: `at ${context.publicUrl()}${approvalPagePath(id)}`,
  })
  const wallet = await findWallet(tx, approval.partyId, approval.walletId)
  if (wallet === undefined) throw new Error(`Bug: the wallet of the approval ${id} is gone.`)
  return { approval, payment, wallet }
}

async function load({ tx, actor, operation, partyId }: Context, id: string): Promise<Records> {
  const approval = await findApproval(tx, partyId, id)
  if (approval === undefined) fail('not_found', { detail: `There is no approval ${id}.` })
  const wallet = await findWallet(tx, partyId, approval.walletId)
  if (wallet === undefined) throw new Error(`Bug: the wallet of the approval ${id} is gone.`)
  await requireWalletPermission(tx, actor, operation, wallet)
  return { approval, wallet, payment: await paymentOf(tx, approval) }
}

async function newVerificationUrl({ tx, system, nowMs, publicUrl }: Context, userId: string): Promise<string> {
  return `${publicUrl()}/verify/${await newChallenge(tx, system, userId, nowMs)}`
}

async function paymentOf(tx: Transaction, approval: ApprovalRow): Promise<PaymentRow> {
  const payment = await findPayment(tx, approval.partyId, approval.paymentId)
  if (payment === undefined) throw new Error(`Bug: the approval ${approval.id} has no payment.`)
  return payment
}

export async function approvalView(tx: Transaction, row: ApprovalRow): Promise<ApprovalResource> {
  const payment = await paymentOf(tx, row)
  const { amountCents: amount, currency, beneficiary } = payment
  return {
    type: 'approval',
    id: row.id,
    attributes: {
      status: row.status,
      target: { type: targetTypes[payment.kind], id: payment.id },
      payment: { amount, currency },
      reasons: JSON.parse(row.reasons) as LimitReason[],
      customer: payment.delegated === 1 ? await customerOf(tx, payment.partyId) : null,
      ach: null,
      realtime: null,
      wire: payment.kind === 'wire' && beneficiary !== null ? wireOf(beneficiary) : null,
      initiator: { actorType: payment.actorType, agent: await agentOf(tx, payment.agentId) },
      denialReason: row.denialReason,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
      resolvedAt: row.resolvedAtMs === null ? null : timestamp(row.resolvedAtMs),
    },
  }
}

/**
 * The type of an approval's target for each kind of payment. `internal` is never used, because transfers of this kind
 * need no approval.
 */
const targetTypes = {
  payment: 'payment',
  wire: 'withdrawal',
  withdrawal: 'withdrawal',
  deposit: 'deposit',
  internal: 'withdrawal',
} as const satisfies Record<PaymentRow['kind'], string>

async function customerOf(tx: Transaction, id: string) {
  return { id, name: (await findParty(tx, id))?.displayName ?? null }
}

async function agentOf(tx: Transaction, id: string | null) {
  const agent = id === null ? undefined : await findAgentOfAnyParty(tx, { id })
  if (agent === undefined) return null
  const owner = await findParty(tx, agent.partyId)
  return {
    id: agent.id,
    name: agent.name,
    owner: owner === undefined ? null : { partyId: owner.id, name: owner.displayName },
  }
}

function wireOf(beneficiary: string) {
  const { name } = JSON.parse(beneficiary) as Beneficiary
  return { beneficiaryName: name, accountDisplayMask: accountMask(beneficiary) }
}
