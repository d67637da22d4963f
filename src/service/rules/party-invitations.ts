import type { partyInvitationStatuses } from '../../../tools/party-invitations.ts'
import { fail } from '../../core/errors.ts'
import { next, type Transitions } from './transitions.ts'

export type PartyInvitationStatus = (typeof partyInvitationStatuses)[number]
type PartyInvitationAnswer = 'accept' | 'decline' | 'revoke'

/** Only a pending invitation changes (docs/service.md#party-invitations). */
export const partyInvitationTransitions = {
  PENDING: { accept: 'ACCEPTED', decline: 'DECLINED', revoke: 'REVOKED' },
  ACCEPTED: {},
  DECLINED: {},
  REVOKED: {},
} as const satisfies Transitions<PartyInvitationStatus, PartyInvitationAnswer>

/** @throws 409 `conflict` when the invitation is not pending. */
export function answeredPartyInvitation(
  before: PartyInvitationStatus,
  answer: PartyInvitationAnswer,
): PartyInvitationStatus {
  const after = next<PartyInvitationStatus, PartyInvitationAnswer>(partyInvitationTransitions, before, answer)
  return after ?? fail('conflict', { detail: `Only a pending invitation can change, and this one is ${before}.` })
}
