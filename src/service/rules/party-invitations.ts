import type { partyInvitationStatuses } from '../../../tools/party-invitations.ts'
import { fail } from '../../core/errors.ts'
import { next, type Transitions } from './transitions.ts'

export type PartyInvitationStatus = (typeof partyInvitationStatuses)[number]
type PartyInvitationEvent = 'accept' | 'decline' | 'revoke'

/** How long an invitation can be accepted after its creation. */
export const partyInvitationLifeMs = 30 * 24 * 60 * 60 * 1000

/** The transitions of an invitation. Only a pending invitation can change (docs/service.md#party-invitations). */
export const partyInvitationTransitions = {
  PENDING: { accept: 'ACCEPTED', decline: 'DECLINED', revoke: 'REVOKED' },
  ACCEPTED: {},
  DECLINED: {},
  REVOKED: {},
} as const satisfies Transitions<PartyInvitationStatus, PartyInvitationEvent>

/** Returns the status of an invitation after an event. @throws 409 `conflict` if the invitation is not pending. */
export function nextPartyInvitationStatus(
  before: PartyInvitationStatus,
  event: PartyInvitationEvent,
): PartyInvitationStatus {
  const after = next<PartyInvitationStatus, PartyInvitationEvent>(partyInvitationTransitions, before, event)
  return after ?? fail('conflict', { detail: `Only a pending invitation can change, and this one is ${before}.` })
}

interface Dated {
  status: PartyInvitationStatus
  createdAtMs: number
}

export function partyInvitationExpiryMs({ createdAtMs }: Pick<Dated, 'createdAtMs'>): number {
  return createdAtMs + partyInvitationLifeMs
}

/**
 * Returns whether the invitation has expired. Its status stays PENDING, because the published API has no status for
 * expired invitations.
 */
export function isPartyInvitationExpired(invitation: Dated, nowMs: number): boolean {
  return invitation.status === 'PENDING' && nowMs >= partyInvitationExpiryMs(invitation)
}
