import { equalSecrets, hmac, newSecret, type PasswordCost, passwordHash, type System, sha256 } from '../../system.ts'
import { checkoutKey } from '../store/checkout-key.ts'
import type { PasswordRow } from '../store/oauth-schema.ts'
import { findUser } from '../store/second-factors.ts'
import {
  deleteSession,
  deleteSessionsOf,
  findPassword,
  findSession,
  findUserByEmail,
  firstOwner,
  insertSession,
  lockPassword,
  savePassword,
} from '../store/sign-ins.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { UserRow } from '../store/tables.ts'
import { atMost } from './at-most.ts'

/** A user who is signed in, and the text that forms of this session carry. */
export interface SignedIn {
  user: UserRow
  /** Of a form, by what it is for: another site cannot know it. */
  formToken(purpose: string): string
}

export interface SignIn {
  /** The session's secret, for the browser's cookie; or why there is none. */
  byPassword(email: string, password: string): Promise<{ session: string } | 'wrong' | 'too_many'>
  /** Signs in the sandbox's owner without a password. Whether the caller may is to be asked before. */
  asOwner(): Promise<{ session: string } | undefined>
  /** Who would be signed in by `asOwner`. */
  owner(): Promise<UserRow | undefined>
  of(session: string | undefined): Promise<SignedIn | undefined>
  end(session: string): Promise<void>
  /** Sets the owner's password, or makes one where there is none; null: there is one, which is not known. */
  seedPassword(given: string | undefined): Promise<{ email: string; password: string | null }>
}

/** How long a browser stays signed in, seconds. */
export const sessionSeconds = 12 * 60 * 60

/** One of the equally strong settings of the OWASP Password Storage Cheat Sheet; 32 MiB. */
const cost: PasswordCost = { blocks: 2 ** 15, size: 8, lanes: 3 }

/** Wrong passwords of one user within the time, after which even the right one is not looked at. */
const mostRefused = 10
const refusedForMs = 15 * 60 * 1000
/** Of all users, in one process: each costs much time and memory. */
const mostPerMinute = 120

export function createSignIn(store: Store, system: System): SignIn {
  const mayTry = atMost(mostPerMinute, 60)
  const mayMiss = atMost(mostRefused, refusedForMs / 1000)
  const begin = async (tx: Transaction, user: UserRow) => {
    const session = newSecret(system)
    const nowMs = system.now()
    const row = { idHash: sha256(session), userId: user.id, createdAtMs: nowMs }
    await insertSession(tx, { ...row, expiresAtMs: nowMs + sessionSeconds * 1000 })
    return { session }
  }
  return {
    async byPassword(email, password) {
      if (!(await mayTry('password'))) return 'too_many'
      const found = await store.transaction(async (tx) => {
        const user = await findUserByEmail(tx, email.trim().toLowerCase())
        return { user, stored: user && (await findPassword(tx, user.id)) }
      })
      // Somebody who is not there takes as long as a wrong password, and as many: nobody learns who has an account.
      const right = await matches(password, found.stored?.hash ?? nobody)
      if (found.stored === undefined) return (await mayMiss(sha256(email.trim().toLowerCase()))) ? 'wrong' : 'too_many'
      return store.transaction(async (tx) => {
        const { user } = found
        const stored = user && (await lockPassword(tx, user.id))
        if (user === undefined || stored === undefined) return 'wrong'
        const nowMs = system.now()
        const lately = refusals(stored).filter((atMs) => nowMs - atMs < refusedForMs)
        if (lately.length >= mostRefused) return 'too_many'
        if (!right || stored.hash !== found.stored?.hash) {
          await savePassword(tx, { ...stored, refusedAtMs: JSON.stringify([...lately, nowMs]) })
          return 'wrong'
        }
        await savePassword(tx, { ...stored, refusedAtMs: '[]' })
        return begin(tx, user)
      })
    },
    owner: () => store.transaction(firstOwner),
    asOwner: () =>
      store.transaction(async (tx) => {
        const user = await firstOwner(tx)
        return user && begin(tx, user)
      }),
    of: (session) =>
      store.transaction(async (tx) => {
        if (session === undefined) return undefined
        const row = await findSession(tx, sha256(session))
        if (row === undefined || system.now() >= row.expiresAtMs) return undefined
        const user = await findUser(tx, row.userId)
        const key = await checkoutKey(tx, system)
        return user && { user, formToken: (purpose) => hmac(key, `form ${row.idHash} ${purpose}`) }
      }),
    end: (session) => store.transaction((tx) => deleteSession(tx, sha256(session))),
    async seedPassword(given) {
      const { user, stored } = await store.transaction(async (tx) => {
        const owner = await firstOwner(tx)
        return { user: owner, stored: owner && (await findPassword(tx, owner.id)) }
      })
      if (user === undefined) throw new Error('Bug: the sandbox has no owner.')
      if (given === undefined && stored !== undefined) return { email: user.email, password: null }
      const password = given ?? newSecret(system, 12)
      const same = given !== undefined && stored !== undefined && (await matches(given, stored.hash))
      if (!same) await replacePassword(store, system, user.id, password)
      return { email: user.email, password }
    },
  }
}

/** Gives a user a password in place of the one it had. */
export async function replacePassword(store: Store, system: System, userId: string, password: string): Promise<void> {
  const hash = await hashed(password, newSecret(system, 16))
  await store.transaction(async (tx) => {
    await savePassword(tx, { userId, hash, refusedAtMs: '[]' })
    // Whoever knew the one before is signed out.
    await deleteSessionsOf(tx, userId)
  })
}

async function hashed(password: string, salt: string): Promise<string> {
  const { blocks, size, lanes } = cost
  return ['scrypt', blocks, size, lanes, salt, await passwordHash(password, salt, cost)].join('$')
}

async function matches(password: string, stored: string): Promise<boolean> {
  const [, blocks, size, lanes, salt = '', hash = ''] = stored.split('$')
  const itsCost = { blocks: Number(blocks), size: Number(size), lanes: Number(lanes) }
  return equalSecrets(await passwordHash(password, salt, itsCost), hash)
}

/** The password of nobody: no hash is empty. */
const nobody = `scrypt$${cost.blocks}$${cost.size}$${cost.lanes}$nobody$`

function refusals({ refusedAtMs }: PasswordRow): number[] {
  return JSON.parse(refusedAtMs) as number[]
}
