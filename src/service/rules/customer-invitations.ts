import type { invitationStatuses } from '../../../tools/customer-invitations.ts'
import { fail } from '../../core/errors.ts'
import { next, type Transitions } from './transitions.ts'

export type InvitationStatus = (typeof invitationStatuses)[number]

/** The events of an invitation. Only `accept` and `decline` come from its recipient. */
export type InvitationEvent =
  | 'accept'
  | 'decline'
  | 'expire'
  | 'revoke'
  | 'agent_retired'
  | 'developer_retired'
  | 'connected'

/** The transitions of an invitation. Only a pending invitation can change (docs/service.md#invitation-status). */
export const invitationTransitions = {
  PENDING: {
    accept: 'ACCEPTED',
    decline: 'DECLINED',
    expire: 'EXPIRED',
    revoke: 'CANCELED',
    agent_retired: 'CANCELED',
    developer_retired: 'CANCELED',
    connected: 'CANCELED',
  },
  ACCEPTED: {},
  DECLINED: {},
  EXPIRED: {},
  CANCELED: {},
} as const satisfies Transitions<InvitationStatus, InvitationEvent>

/** The cancel reason of each event; null for events that do not cancel the invitation. */
export const cancelReasonOf = {
  accept: null,
  decline: null,
  expire: null,
  revoke: 'DEVELOPER_REVOKED',
  agent_retired: 'AGENT_RETIRED',
  developer_retired: 'DEVELOPER_RETIRED',
  connected: 'CONNECTION_ESTABLISHED',
} as const satisfies Record<InvitationEvent, string | null>

export type CancelReason = NonNullable<(typeof cancelReasonOf)[InvitationEvent]>

/** The fields of an invitation that its events change. Times are in ms. */
export interface InvitationState {
  status: InvitationStatus
  cancelReason: CancelReason | null
  /** The time until which the invitation can be answered; null if it is no longer pending. */
  pendingUntilMs: number | null
  acceptedAtMs: number | null
  declinedAtMs: number | null
  updatedAtMs: number
}

/** Returns the state of a new invitation. */
export function pendingInvitation(expiresAtMs: number, nowMs: number): InvitationState {
  const unanswered = { cancelReason: null, acceptedAtMs: null, declinedAtMs: null }
  return { status: 'PENDING', ...unanswered, pendingUntilMs: expiresAtMs, updatedAtMs: nowMs }
}

/**
 * Applies an event to an invitation.
 * @throws 409 `conflict` if the invitation is not pending.
 */
export function applyToInvitation(before: InvitationState, event: InvitationEvent, nowMs: number): InvitationState {
  const status = next<InvitationStatus, InvitationEvent>(invitationTransitions, before.status, event)
  if (status === undefined) {
    fail('conflict', { detail: `Only a pending invitation can change, and this one is ${before.status}.` })
  }
  return {
    status,
    cancelReason: cancelReasonOf[event],
    pendingUntilMs: null,
    acceptedAtMs: event === 'accept' ? nowMs : null,
    declinedAtMs: event === 'decline' ? nowMs : null,
    updatedAtMs: nowMs,
  }
}

const dayMs = 24 * 60 * 60 * 1000
export const maxInvitationDays = 90
export const defaultInvitationDays = 30
/** How many days an invitation for one agent lasts. */
export const agentInvitationDays = 7

/** Returns when an invitation expires; undefined if the requested time is not within the next 90 days. */
export function invitationExpiry(
  requestedMs: number | undefined,
  nowMs: number,
  defaultDays = defaultInvitationDays,
): number | undefined {
  const expiresAtMs = requestedMs ?? nowMs + defaultDays * dayMs
  return expiresAtMs > nowMs && expiresAtMs <= nowMs + maxInvitationDays * dayMs ? expiresAtMs : undefined
}

export interface Recipient {
  type: 'email' | 'phone' | 'party_id'
  value: string
}

const forms = {
  email: { pattern: /^[^\s@"(),:;<>[\\\]]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/, description: 'an email address' },
  phone: { pattern: /^\+[1-9]\d{6,14}$/, description: 'a phone number with its country code, such as +14155550123' },
  party_id: { pattern: /^pty_[0-9a-f]{32}$/, description: 'the id of a party, pty_…' },
} as const satisfies Record<Recipient['type'], { pattern: RegExp; description: string }>

/**
 * Returns the recipient with a normalized value, so that different spellings of the same value become equal. If the
 * value is malformed, returns a description of the required form.
 */
export function normalRecipient({ type, value }: Recipient): Recipient | { mustBe: string } {
  const normal =
    type === 'email' ? value.trim().toLowerCase() : type === 'phone' ? value.replace(/[\s().-]/g, '') : value
  return forms[type].pattern.test(normal) ? { type, value: normal } : { mustBe: forms[type].description }
}
