import { fail } from '../../../core/errors.ts'
import type { Context } from '../../request/handler.ts'
import { findUser } from '../../store/users.ts'

/**
 * Requires an owner or administrator if the caller is a user. Only they may change the party or its membership
 * (docs/service.md#members). A party's key acts as the party.
 * @throws 403 `forbidden`.
 */
export async function requireManager({ tx, actor, operation }: Context): Promise<'OWNER' | 'ADMIN' | null> {
  if (actor.userId === null) return null
  const role = (await findUser(tx, actor.userId))?.role ?? 'MEMBER'
  if (role !== 'MEMBER') return role
  fail('forbidden', { detail: `${operation.name} is for owners and administrators; you are a member of the party.` })
}
