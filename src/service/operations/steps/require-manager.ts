import { fail } from '../../../core/errors.ts'
import type { Context } from '../../request/handler.ts'
import { findUser } from '../../store/users.ts'

/**
 * Members use what the owners and administrators of their party set up: a user has to be one of these to change the party
 * or who belongs to it (docs/service.md#members). A party's key acts as the party.
 * @throws 403 `forbidden`.
 */
export async function requireManager({ tx, actor, operation }: Context): Promise<'OWNER' | 'ADMIN' | null> {
  if (actor.userId === null) return null
  const role = (await findUser(tx, actor.userId))?.role ?? 'MEMBER'
  if (role !== 'MEMBER') return role
  fail('forbidden', { detail: `${operation.name} is for owners and administrators; you are a member of the party.` })
}
