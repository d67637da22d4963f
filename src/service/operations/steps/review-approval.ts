import { type Dependencies, runSettled } from '../../request/settled-transaction.ts'
import { mfaLifetimeMs, mfaThresholdCents } from '../../rules/approvals.ts'
import type { LimitReason } from '../../rules/limits.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import { findApproval, listApprovals } from '../../store/approvals.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import { findPayment } from '../../store/payments.ts'
import type { ApprovalRow } from '../../store/schema/approvals.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { newChallenge } from '../../tokens/mfa-challenges.ts'
import { accountMask } from '../transfers.ts'
import type { BankAccount } from './bank-transfers.ts'

/** The facts about an approval and its payment that the deciding person sees. */
export interface ApprovalReview {
  id: string
  status: ApprovalRow['status']
  amountCents: number
  /** The purpose of the payment, in the words of the initiator. */
  description: string | null
  payee: Payee
  initiator: {
    kind: PaymentRow['actorType']
    agent: string | null
    /** The name of the party that owns the agent; null if that is the paying party, or if there is no agent. */
    owner: string | null
  }
  reasons: LimitReason[]
  createdAtMs: number
  resolvedAtMs: number | null
  denialReason: string | null
  /**
   * The user's second-factor verification; null if the amount requires none. `untilMs` is the time when the
   * verification expires; it is null if the user must verify before approving.
   */
  check: { untilMs: number | null } | null
}

export type Payee =
  | { kind: 'party' | 'claimant'; name: string }
  | { kind: 'agent'; name: string; owner: string }
  | { kind: 'account'; name: string; account: string }
  /** The paying party's own linked bank account, which a deposit debits and a withdrawal credits. */
  | { kind: 'deposit' | 'withdrawal'; name: string; account: string }

/** The functions with which a user of the paying party reviews approvals. */
export interface ApprovalReviews {
  open(id: string, user: UserRow): Promise<ApprovalReview | undefined>
  /** Returns at most `limit` pending approvals of the user's party, newest first. */
  waiting(user: UserRow, limit: number): Promise<ApprovalReview[]>
  /**
   * Creates a challenge, which is the last part of the URL of the page where the user verifies with a second factor.
   */
  challenge(user: UserRow): Promise<string>
}

export function createApprovalReviews(dependencies: Dependencies): ApprovalReviews {
  return {
    open: (id, user) =>
      runSettled(dependencies, async ({ tx, nowMs }) => {
        const approval = await findApproval(tx, user.partyId, id)
        return approval && viewOf(tx, approval, user, nowMs)
      }),
    waiting: (user, limit) =>
      runSettled(dependencies, async ({ tx, nowMs }) => {
        const scope = { partyId: user.partyId, agentId: null, requiredPermission: null }
        const { rows } = await listApprovals(tx, scope, 'pending', { limit, beforeId: null })
        return Promise.all(rows.map((approval) => viewOf(tx, approval, user, nowMs)))
      }),
    challenge: (user) => runSettled(dependencies, ({ tx, system, nowMs }) => newChallenge(tx, system, user.id, nowMs)),
  }
}

async function viewOf(
  tx: Transaction,
  approval: ApprovalRow,
  { mfaVerifiedAtMs }: UserRow,
  nowMs: number,
): Promise<ApprovalReview> {
  const payment = await findPayment(tx, approval.partyId, approval.paymentId)
  if (payment === undefined) throw new Error(`Bug: the payment of the approval ${approval.id} is gone.`)
  const untilMs = mfaVerifiedAtMs === null ? null : mfaVerifiedAtMs + mfaLifetimeMs
  const checked = { untilMs: untilMs !== null && nowMs <= untilMs ? untilMs : null }
  return {
    id: approval.id,
    status: approval.status,
    amountCents: payment.amountCents,
    description: payment.description,
    payee: await payeeOf(tx, payment),
    initiator: await initiatorOf(tx, payment),
    reasons: JSON.parse(approval.reasons) as LimitReason[],
    createdAtMs: approval.createdAtMs,
    resolvedAtMs: approval.resolvedAtMs,
    denialReason: approval.denialReason,
    check: payment.amountCents > mfaThresholdCents ? checked : null,
  }
}

async function payeeOf(tx: Transaction, payment: PaymentRow): Promise<Payee> {
  const { beneficiary, recipientPartyId, recipientAgentId, claimant } = payment
  const { kind } = payment
  if ((kind === 'wire' || kind === 'deposit' || kind === 'withdrawal') && beneficiary !== null) {
    const { name } = JSON.parse(beneficiary) as BankAccount
    return { kind: kind === 'wire' ? 'account' : kind, name, account: accountMask(beneficiary) }
  }
  if (recipientPartyId === null) return { kind: 'claimant', name: claimant ?? '' }
  const party = await nameOf(tx, recipientPartyId)
  const agent = recipientAgentId === null ? undefined : await findAgentOfAnyParty(tx, { id: recipientAgentId })
  return agent === undefined ? { kind: 'party', name: party } : { kind: 'agent', name: agent.name, owner: party }
}

async function initiatorOf(tx: Transaction, payment: PaymentRow): Promise<ApprovalReview['initiator']> {
  const agent = payment.agentId === null ? undefined : await findAgentOfAnyParty(tx, { id: payment.agentId })
  const isOfOtherParty = agent !== undefined && agent.partyId !== payment.partyId
  return {
    kind: payment.actorType,
    agent: agent?.name ?? null,
    owner: isOfOtherParty ? await nameOf(tx, agent.partyId) : null,
  }
}

async function nameOf(tx: Transaction, partyId: string): Promise<string> {
  return (await findParty(tx, partyId))?.displayName ?? ''
}
