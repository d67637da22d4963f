import type { approvalStatuses } from '../../../tools/approvals.ts'
import { fail } from '../../core/errors.ts'
import { money } from '../../core/money.ts'
import { next, type Transitions } from './transitions.ts'

export type ApprovalStatus = (typeof approvalStatuses)[number]
export type ApprovalEvent = 'approve' | 'deny' | 'cancel'

/** An approval is resolved once. */
export const approvalTransitions = {
  pending: { approve: 'approved', deny: 'denied', cancel: 'canceled' },
  approved: {},
  denied: {},
  canceled: {},
} as const satisfies Transitions<ApprovalStatus, ApprovalEvent>

/** The state that a decision brings an approval to. @throws 409 `conflict` when it is resolved. */
export function nextApprovalStatus(status: ApprovalStatus, event: ApprovalEvent): ApprovalStatus {
  const after = next<ApprovalStatus, ApprovalEvent>(approvalTransitions, status, event)
  return after ?? fail('conflict', { detail: `The approval is already ${status} and cannot be decided again.` })
}

/** Above it, a user proves again that it is them (cents). */
export const mfaThresholdCents = 50_000
/** How long a proof of the second factor counts as recent, by the service's time. */
export const mfaLifetimeMs = 10 * 60_000
/** How long the address of a check works, by the service's time. */
export const mfaChallengeLifetimeMs = 10 * 60_000

type Initiator = 'agent' | 'user' | 'api'

/** An agent may approve what a user or an API key of its party asked for. @throws 403 `forbidden` else. */
export function requireMayDecide(decider: 'party' | 'user' | 'agent', initiator: Initiator): void {
  if (decider !== 'agent' || initiator !== 'agent') return
  fail('forbidden', { detail: 'An agent cannot approve what an agent asked for. Ask the owner of the account.' })
}

interface UsersDecision {
  amountCents: number
  /** When the user last proved a second factor; null never. */
  verifiedAtMs: number | null
  nowMs: number
  /** The address at which people verify. */
  verifyAt: string
}

/**
 * A user approves a large amount only with a recent second factor (docs/service.md#second-factor). The refusal is
 * recorded under the request's key, for docs/service.md#idempotency-failures does not except it. So approving after the
 * check is a new operation with a new key, which the detail says.
 * @throws 428 `mfa_required`.
 */
export function requireRecentMfa({ amountCents, verifiedAtMs, nowMs, verifyAt }: UsersDecision): void {
  if (amountCents <= mfaThresholdCents) return
  if (verifiedAtMs !== null && nowMs - verifiedAtMs <= mfaLifetimeMs) return
  fail('mfa_required', {
    detail: `Approving more than ${money(mfaThresholdCents)} needs a recent multi-factor check. Verify here within ${mfaChallengeLifetimeMs / 60_000} minutes, then approve again with a new Idempotency-Key: ${verifyAt}`,
  })
}
