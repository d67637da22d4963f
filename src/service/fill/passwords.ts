import type { System } from '../../core/system.ts'
import type { World } from '../../worlds/schema.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { hashOfPassword } from '../oauth/sign-in.ts'

export type User = NonNullable<WorldParty['users']>[number]

/** The hashes of passwords by the user of the world who has one. */
export type PasswordHashes = ReadonlyMap<User, string>

/** Hashes the passwords in a world. It takes long on purpose, so that no transaction is to wait for it. */
export async function hashPasswords(world: World, system: System): Promise<PasswordHashes> {
  const users = world.parties.flatMap((party) => party.users ?? [])
  const hashed = users.map(async (user) => {
    return user.password === undefined ? [] : [[user, await hashOfPassword(user.password, system)] as const]
  })
  return new Map((await Promise.all(hashed)).flat())
}
