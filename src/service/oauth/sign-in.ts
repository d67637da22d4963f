import {
  equalSecrets,
  hmac,
  newSecret,
  type PasswordCost,
  passwordHash,
  type System,
  sha256,
} from '../../core/system.ts'
import { recordUsersAct } from '../request/activity.ts'
import {
  deleteKnownBrowsersOf,
  deleteSession,
  deleteSessionsOf,
  findSession,
  insertSession,
  replaceKnownBrowser,
} from '../store/browser-sessions.ts'
import { readTimes, realNow } from '../store/clock.ts'
import type { Store, Transaction } from '../store/engine/store.ts'
import { findPassword, savePassword } from '../store/passwords.ts'
import type { UserRow } from '../store/schema/tables.ts'
import { findUser, findUserByEmail, firstOwner } from '../store/users.ts'
import { createPasswordTries, type SignInPlace } from './password-tries.ts'

/** A user who is signed in, and the text that forms of this session carry. */
export interface SignedIn {
  user: UserRow
  /** Of a form, by what it is for: another site cannot know it. */
  formToken(purpose: string): string
}

/** Secrets for the cookies of a browser in which somebody signed in. */
export interface Begun {
  session: string
  /** Says later that somebody signed in here before. It signs nobody in. */
  browser: string
}

export interface SignIn {
  /** What the browser keeps; or why there is nothing. */
  byPassword(email: string, password: string, place: SignInPlace): Promise<Begun | 'wrong' | 'too_many'>
  /** Signs in the sandbox's owner without a password. Whether the caller may is to be asked before. */
  asOwner(place: SignInPlace): Promise<Begun | undefined>
  /** Who would be signed in by `asOwner`. */
  owner(): Promise<UserRow | undefined>
  of(session: string | undefined): Promise<SignedIn | undefined>
  end(session: string): Promise<void>
  /** Sets the owner's password, or makes one where there is none; null: there is one, which is not known. */
  seedPassword(given: string | undefined): Promise<{ email: string; password: string | null }>
}

/** How long a browser stays signed in, seconds. */
export const sessionSeconds = 12 * 60 * 60

/** How long a browser is known after somebody signed in; browsers keep no cookie for longer than 400 days. */
export const browserSeconds = 365 * 24 * 60 * 60

/** One of the equally strong settings of the OWASP Password Storage Cheat Sheet; 32 MiB. */
const cost: PasswordCost = { blocks: 2 ** 15, size: 8, lanes: 3 }

export function createSignIn(store: Store, system: System): SignIn {
  const tries = createPasswordTries(system)
  const begin = async (tx: Transaction, user: UserRow, { browser: before }: SignInPlace): Promise<Begun> => {
    const [session, browser] = [newSecret(system), newSecret(system)]
    const nowMs = await realNow(tx)
    const row = { userId: user.id, createdAtMs: nowMs }
    await insertSession(tx, { ...row, idHash: sha256(session), expiresAtMs: nowMs + sessionSeconds * 1000 })
    const known = { ...row, idHash: sha256(browser), expiresAtMs: nowMs + browserSeconds * 1000 }
    await replaceKnownBrowser(tx, known, before === undefined ? null : sha256(before))
    const { nowMs: serviceNowMs } = await readTimes(tx)
    await recordUsersAct({ tx, system, nowMs: serviceNowMs }, user, { operation: 'sign_in', resourceIds: [user.id] })
    return { session, browser }
  }
  return {
    async byPassword(email, password, place) {
      const address = email.trim().toLowerCase()
      const found = await store.read(async (tx) => {
        const user = await findUserByEmail(tx, address)
        const stored = user && (await findPassword(tx, user.id))
        return { user, stored, source: await tries.sourceOf(tx, place, user) }
      })
      if (!(await tries.mayLook(found.source))) return 'too_many'
      // Somebody who is not there takes as long as a wrong password, and as many: nobody learns who has an account.
      const right = await matches(password, found.stored?.hash ?? nobody)
      const [account, { user, source }] = [sha256(address), found]
      return store.transaction(async (tx) => {
        // Two tries at once are judged one after the other.
        await tx.lock(`sign-in ${account}`)
        if (await tries.isClosed(tx, account, source)) return 'too_many'
        const stored = user && (await findPassword(tx, user.id))
        if (user === undefined || !right || stored?.hash !== found.stored?.hash) {
          await tries.noteWrong(tx, account, source)
          return 'wrong'
        }
        await tries.noteRight(tx, account, source)
        return begin(tx, user, place)
      })
    },
    owner: () => store.transaction(firstOwner),
    asOwner: (place) =>
      store.transaction(async (tx) => {
        const user = await firstOwner(tx)
        return user && begin(tx, user, place)
      }),
    of: (session) =>
      store.transaction(async (tx) => {
        if (session === undefined) return undefined
        const row = await findSession(tx, sha256(session))
        if (row === undefined || (await realNow(tx)) >= row.expiresAtMs) return undefined
        const user = await findUser(tx, row.userId)
        // The database has the session's hash only, so nobody who reads it knows what the session's forms carry.
        return user && { user, formToken: (purpose) => hmac(session, `form ${purpose}`) }
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
    await savePassword(tx, { userId, hash })
    // Whoever knew the one before is signed out, and known nowhere.
    await deleteSessionsOf(tx, userId)
    await deleteKnownBrowsersOf(tx, userId)
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
