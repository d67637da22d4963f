import { fail } from '../../../core/errors.ts'
import type { Context } from '../../request/handler.ts'
import { findUser } from '../../store/users.ts'

/**
 * Requires that a caller who is a user is an owner or administrator, because no other member may change the party or
 * its members (docs/service.md#members). Returns the user's role; null if the caller is a key of the party, which may
 * make the same changes.
 * @throws 403 `forbidden` if the user has another role.
 */
export async function requireManager({ tx, actor, operation }: Context): Promise<'OWNER' | 'ADMIN' | null> {
  if (actor.userId === null) return null
  const role = (await findUser(tx, actor.userId))?.role ?? 'MEMBER'
  if (role !== 'MEMBER') return role
  fail('forbidden', { detail: `${operation.name} is for owners and administrators; your role is MEMBER.` })
}
