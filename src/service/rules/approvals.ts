import type { approvalStatuses } from '../../../tools/approvals.ts'
import { fail } from '../../core/errors.ts'
import { money } from '../../core/money.ts'
import { next, type Transitions } from './transitions.ts'

export type ApprovalStatus = (typeof approvalStatuses)[number]
export type ApprovalEvent = 'approve' | 'deny' | 'cancel'

export const approvalTransitions = {
  pending: { approve: 'approved', deny: 'denied', cancel: 'canceled' },
  approved: {},
  denied: {},
  canceled: {},
} as const satisfies Transitions<ApprovalStatus, ApprovalEvent>

/** Returns the status of an approval after a decision. @throws 409 `conflict` if the approval is already resolved. */
export function nextApprovalStatus(status: ApprovalStatus, event: ApprovalEvent): ApprovalStatus {
  const after = next<ApprovalStatus, ApprovalEvent>(approvalTransitions, status, event)
  return after ?? fail('conflict', { detail: `The approval is already ${status} and cannot be decided again.` })
}

/** The amount in cents above which a user needs a second factor to approve a request. */
export const mfaThresholdCents = 50_000
/** How long a verification counts as recent, by the sandbox clock. */
export const mfaLifetimeMs = 10 * 60_000
/** How long the URL of a verification page works, by the sandbox clock. */
export const mfaChallengeLifetimeMs = 10 * 60_000

type Initiator = 'agent' | 'user' | 'api'

/**
 * Refuses an agent's approval of a request that an agent made, even if the two agents are different. An agent may
 * approve requests from its party's users and API keys.
 * @throws 403 `forbidden` if both the decider and the initiator are agents.
 */
export function requireMayApprove(decider: 'party' | 'user' | 'agent', initiator: Initiator): void {
  if (decider !== 'agent' || initiator !== 'agent') return
  fail('forbidden', { detail: "An agent cannot approve an agent's request. Ask the owner of the account." })
}

interface UserApproval {
  amountCents: number
  /** The time when the user last verified with a second factor; null if the user never has. */
  verifiedAtMs: number | null
  nowMs: number
  /** The URL of the page where the user verifies. */
  verifyAt: string
}

/**
 * Refuses a user's approval of a large amount if the user has not recently verified with a second factor
 * (docs/service.md#second-factor). Like most errors, this error is recorded under the request's idempotency key
 * (docs/service.md#idempotency-failures). After verifying, the user therefore needs a new key to approve, as the error
 * message says.
 * @throws 428 `mfa_required` if the last verification is too old or missing.
 */
export function requireRecentMfa({ amountCents, verifiedAtMs, nowMs, verifyAt }: UserApproval): void {
  if (amountCents <= mfaThresholdCents) return
  if (verifiedAtMs !== null && nowMs - verifiedAtMs <= mfaLifetimeMs) return
  fail('mfa_required', {
    detail: `Approving more than ${money(mfaThresholdCents)} needs a recent multi-factor verification. Verify within ${mfaChallengeLifetimeMs / 60_000} minutes, then approve again with a new Idempotency-Key. The page to verify: ${verifyAt}`,
  })
}
