import { fail } from '../../../core/errors.ts'
import type { Context } from '../../request/handler.ts'
import { deleteKnownBrowsersOf, deleteSessionsOf } from '../../store/browser-sessions.ts'
import { revokeTokensOfUser } from '../../store/credentials.ts'
import { revokeGrantsOfUser } from '../../store/oauth-grants.ts'
import { deleteRecordsOfUser } from '../../store/oauth-records.ts'
import { findParty, tellParty } from '../../store/parties.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { hasOtherOwner, revokeUser } from '../../store/users.ts'
import { requireManager } from './require-manager.ts'

/**
 * Takes a person out of their party, with all that they alone held: where they are signed in, their tokens, and the
 * applications that they connected. The keys that they made are the party's, and stay.
 * @throws 403 `forbidden` for an owner whom no owner removes, 409 `conflict` for the last one.
 */
export async function removeMember(context: Context, member: UserRow): Promise<void> {
  const { tx, actor, partyId, nowMs } = context
  const role = await requireManager(context)
  if (member.status !== 'ACTIVE') return
  if (member.role === 'OWNER' && role === 'ADMIN') {
    fail('forbidden', { detail: 'Only an owner, or a key of the party, removes an owner.' })
  }
  if (member.role === 'OWNER' && !(await hasOtherOwner(tx, member))) {
    fail('conflict', { detail: `${member.id} is the last owner of the party, who stays.` })
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
  if (party !== undefined) tellParty(tx, party, nowMs)
}
