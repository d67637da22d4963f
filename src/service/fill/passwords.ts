import type { System } from '../../core/system.ts'
import { refuseWorld } from '../../worlds/invalid-world.ts'
import type { World } from '../../worlds/schema.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { hashOfPassword } from '../oauth/sign-in.ts'

export type User = NonNullable<WorldParty['users']>[number]

/** The password hashes of the world's users. */
export type PasswordHashes = ReadonlyMap<User, string>

/**
 * The maximum number of passwords in a world. Hashing is deliberately slow: each password takes a tenth of a second.
 */
const maxPasswords = 100

/**
 * Hashes the passwords in a world. Call this function before the transaction begins, because hashing takes long.
 * @throws InvalidWorldError if the world has too many passwords.
 */
export async function hashPasswords(world: World, system: System): Promise<PasswordHashes> {
  requireFewPasswords(world)
  const users = world.parties.flatMap((party) => party.users ?? [])
  const hashed = users.map(async (user) => {
    return user.password === undefined ? [] : [[user, await hashOfPassword(user.password, system)] as const]
  })
  return new Map((await Promise.all(hashed)).flat())
}

function requireFewPasswords({ parties }: World): void {
  let count = 0
  for (const [party, { users = [] }] of parties.entries()) {
    for (const [at, { password }] of users.entries()) {
      if (password !== undefined && ++count > maxPasswords)
        refuseWorld(
          ['parties', party, 'users', at, 'password'],
          `exceeds the limit of ${maxPasswords} passwords in a world`,
        )
    }
  }
}
