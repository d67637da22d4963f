import { fail } from '../../../core/errors.ts'
import type { Context } from '../../request/handler.ts'
import { deleteKnownBrowsersOf, deleteSessionsOf } from '../../store/browser-sessions.ts'
import { revokeTokensOfUser } from '../../store/credentials.ts'
import { revokeGrantsOfUser } from '../../store/oauth-grants.ts'
import { deleteRecordsOfUser } from '../../store/oauth-records.ts'
import { findParty, recordPartyUpdate } from '../../store/parties.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { hasOtherOwner, revokeUser } from '../../store/users.ts'
import { requireManager } from './require-manager.ts'

/**
 * Removes a member from the party, and ends the member's sessions, tokens and connected applications. API keys that the
 * member created belong to the party and stay valid.
 * @throws 403 `forbidden` if the caller may not remove this member, 409 `conflict` if the member is the last owner.
 */
export async function removeMember(context: Context, member: UserRow): Promise<void> {
  const { tx, actor, partyId, nowMs } = context
  const role = await requireManager(context)
  if (member.status !== 'ACTIVE') return
  if (member.role === 'OWNER' && role === 'ADMIN') {
    fail('forbidden', { detail: 'Only an owner or an API key of the party can remove an owner.' })
  }
  if (member.role === 'OWNER' && !(await hasOtherOwner(tx, member))) {
    fail('conflict', { detail: `${member.id} is the last owner of the party and cannot be removed.` })
  }
  await Promise.all([
    revokeUser(tx, member, nowMs),
    deleteSessionsOf(tx, member.id),
    deleteKnownBrowsersOf(tx, member.id),
    deleteRecordsOfUser(tx, member.id),
    revokeGrantsOfUser(tx, member.id, nowMs),
    revokeTokensOfUser(tx, member, { revokedAtMs: nowMs, revokedBy: actor.userId }),
  ])
  const party = await findParty(tx, partyId)
  if (party !== undefined) recordPartyUpdate(tx, party, nowMs)
}
