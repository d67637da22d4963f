import type { partyInvitations } from '../../../tools/party-invitations.ts'
import { fail } from '../../core/errors.ts'
import type { HandlersOf } from '../request/handler.ts'

const absent = async () => fail('not_implemented')

export const partyInvitationHandlers: HandlersOf<typeof partyInvitations> = {
  listPartyInvitations: absent,
  createPartyInvitations: absent,
  revokePartyInvitation: absent,
}
