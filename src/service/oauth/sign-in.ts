import { equalSecrets, hmac, newSecret, passwordHash, type System, sha256 } from '../../core/system.ts'
import { actOfUser } from '../request/activity.ts'
import type { SettledContext } from '../request/due-effects.ts'
import { type Changed, type Dependencies, runChange, runSettled, unchanged } from '../request/settled-transaction.ts'
import {
  deleteKnownBrowsersOf,
  deleteSession,
  deleteSessionsOf,
  deleteSignInLinksOf,
  findSession,
  findSignInLink,
  insertSession,
  insertSignInLink,
  markSessionProven,
  replaceKnownBrowser,
  takeSignInLink,
} from '../store/browser-sessions.ts'
import { realNow } from '../store/clock.ts'
import type { Store, Transaction } from '../store/engine/store.ts'
import { findPassword, savePassword } from '../store/passwords.ts'
import type { UserRow } from '../store/schema/users.ts'
import { findUser, findUserByEmail, firstOwner } from '../store/users.ts'
import { createPasswordTries, type SignInPlace } from './password-tries.ts'

/** A signed-in user, and a function that creates tokens for the forms in the user's session. */
export interface SignedIn {
  user: UserRow
  /**
   * Whether the sign-in proves that a person is present. False after a one-click sign-in, until the user's second
   * factor is accepted: any program on the sandbox's machine, even an agent, can sign in with one click.
   */
  isProven: boolean
  /** Returns the token for a form with the given purpose. Other sites cannot know this token. */
  formToken(purpose: string): string
}

/** The secrets that become a browser's cookies after a sign-in. */
export interface Cookies {
  session: string
  /** Proves at later sign-ins that the user has signed in on this browser before. This secret alone signs nobody in. */
  browser: string
}

/** How long a browser stays signed in, in seconds. */
export const sessionSeconds = 12 * 60 * 60

/** How long a browser stays known after a sign-in, in seconds. Browsers limit the lifetime of a cookie to 400 days. */
export const browserSeconds = 365 * 24 * 60 * 60

/** How long a one-time sign-in link is valid, in seconds. */
export const linkSeconds = 10 * 60

/** Signs users in through browsers and looks up their sessions. */
export class SignIn {
  readonly #dependencies: Dependencies
  readonly #tries: ReturnType<typeof createPasswordTries>

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.#tries = createPasswordTries(dependencies.system)
  }

  /** Signs in with a password. Returns the secrets for the browser's cookies, or the reason for the refusal. */
  async byPassword(email: string, password: string, place: SignInPlace): Promise<Cookies | 'wrong' | 'too_many'> {
    const tries = this.#tries
    const address = email.trim().toLowerCase()
    const found = await this.#dependencies.store.read(async (tx) => {
      const user = await findUserByEmail(tx, address)
      const stored = user && (await findPassword(tx, user.id))
      return { user, stored, source: await tries.sourceOf(tx, place, user) }
    })
    if (!tries.mayCheck(found.source)) return 'too_many'
    // An attempt on an unknown account takes as long as an attempt with a wrong password, and is counted in the same
    // way. Nobody can therefore find out which accounts exist.
    const isRight = await matchesPassword(
      password,
      found.stored?.hash ?? hashOfNobody(this.#dependencies.system),
      this.#dependencies.system,
    )
    const [account, { user, source }] = [sha256(address), found]
    return runChange<Cookies | 'wrong' | 'too_many'>(this.#dependencies, async (context) => {
      const { tx } = context
      // With this lock, concurrent attempts on the same account are checked one after the other.
      await tx.lock(`sign-in ${account}`)
      if (await tries.isBlocked(tx, account, source)) return unchanged('too_many')
      const stored = user && (await findPassword(tx, user.id))
      if (user === undefined || !isRight || stored?.hash !== found.stored?.hash) {
        await tries.noteWrong(tx, account, source)
        return unchanged('wrong')
      }
      await tries.noteRight(tx, account, source)
      return begin(context, user, place)
    })
  }

  /** Signs in the sandbox's owner without a password. The caller must first check that this is allowed. */
  asOwner(place: SignInPlace): Promise<Cookies | undefined> {
    return runChange<Cookies | undefined>(this.#dependencies, async (context) => {
      const user = await firstOwner(context.tx)
      return user === undefined ? unchanged(undefined) : begin(context, user, place, true)
    })
  }

  /** Returns the user whom `asOwner` would sign in. */
  owner(): Promise<UserRow | undefined> {
    return this.#dependencies.store.read(firstOwner)
  }

  /**
   * Creates a one-time sign-in link for the first owner. The link consists of the URL `page`, a 128-bit code, and the
   * page `next` to show after the sign-in. Returns undefined if there is no owner. Only a command with direct access to
   * the database calls this method, so an agent cannot create a link over HTTP.
   */
  linkTo(page: string, next: string): Promise<string | undefined> {
    const code = newSecret(this.#dependencies.system, 16)
    return runSettled(this.#dependencies, async ({ tx, realNowMs }) => {
      const user = await firstOwner(tx)
      if (user === undefined) return undefined
      const expiresAtMs = realNowMs + linkSeconds * 1000
      await insertSignInLink(tx, { codeHash: sha256(code), userId: user.id, createdAtMs: realNowMs, expiresAtMs })
      return `${page}${code}?next=${encodeURIComponent(next)}`
    })
  }

  /** Returns the user whom a one-time link would sign in, without using the link. */
  atLink(code: string): Promise<UserRow | undefined> {
    return this.#dependencies.store.read(async (tx) => userOfLink(tx, code, await realNow(tx)))
  }

  /**
   * Signs in with a one-time link, which then cannot be used again. Returns undefined if the link is unknown, used or
   * expired.
   */
  byLink(code: string, place: SignInPlace): Promise<Cookies | undefined> {
    return runChange<Cookies | undefined>(this.#dependencies, async (context) => {
      const { tx, realNowMs } = context
      const user = await userOfLink(tx, code, realNowMs)
      if (user === undefined || !(await takeSignInLink(tx, sha256(code)))) return unchanged(undefined)
      return begin(context, user, place)
    })
  }

  /** Marks a session as proven, after the user's second factor was accepted. */
  prove(session: string): Promise<void> {
    return runSettled(this.#dependencies, ({ tx }) => markSessionProven(tx, sha256(session)))
  }

  /**
   * Returns the signed-in user of a session. Form tokens are derived from the session's secret. The database stores
   * only the secret's hash, so reading the database does not reveal the tokens.
   */
  of(session: string | undefined): Promise<SignedIn | undefined> {
    return this.#dependencies.store.read(async (tx) => {
      if (session === undefined) return undefined
      const row = await findSession(tx, sha256(session))
      if (row === undefined || (await realNow(tx)) >= row.expiresAtMs) return undefined
      const user = await findUser(tx, row.userId)
      // If the user was removed during the sign-in, the removal may have deleted the user's sessions before this
      // session was stored.
      if (user?.status !== 'ACTIVE') return undefined
      return { user, isProven: row.oneClick === 0, formToken: (purpose) => hmac(session, `form ${purpose}`) }
    })
  }

  end(session: string): Promise<void> {
    return runChange(this.#dependencies, async ({ tx, realNowMs }) => {
      const row = await findSession(tx, sha256(session))
      const user = row && realNowMs < row.expiresAtMs ? await findUser(tx, row.userId) : undefined
      await deleteSession(tx, sha256(session))
      return { result: undefined, acts: user === undefined ? [] : [actOfUser(user, { operation: 'sign_out' })] }
    })
  }

  /**
   * Sets the first owner's password to `fixedPassword`. If `fixedPassword` is undefined, generates a password, but only
   * if the owner has none and `isSeen` is true, which means that a person will see the new password. The returned
   * password is null if no password was given or generated.
   */
  async seedPassword(
    fixedPassword: string | undefined,
    isSeen = true,
  ): Promise<{ email: string | null; password: string | null }> {
    const { store, system } = this.#dependencies
    const { user, stored } = await store.read(async (tx) => {
      const owner = await firstOwner(tx)
      return { user: owner, stored: owner && (await findPassword(tx, owner.id)) }
    })
    if (user === undefined) return { email: null, password: null }
    if (fixedPassword === undefined && (stored !== undefined || !isSeen)) return { email: user.email, password: null }
    const password = fixedPassword ?? newSecret(system, 12)
    const same =
      fixedPassword !== undefined && stored !== undefined && (await matchesPassword(fixedPassword, stored.hash, system))
    if (same) return { email: user.email, password }
    if (fixedPassword === undefined)
      await replaceHash(this.#dependencies, user.id, hashOfGenerated(password, newSecret(system, 16)))
    else await replacePassword(store, system, user.id, fixedPassword)
    return { email: user.email, password }
  }
}

async function userOfLink(tx: Transaction, code: string, realNowMs: number): Promise<UserRow | undefined> {
  const link = await findSignInLink(tx, sha256(code))
  if (link === undefined || realNowMs >= link.expiresAtMs) return undefined
  const user = await findUser(tx, link.userId)
  return user?.status === 'ACTIVE' ? user : undefined
}

async function begin(
  { tx, system, realNowMs }: SettledContext,
  user: UserRow,
  { browser: before }: SignInPlace,
  isOneClick = false,
): Promise<Changed<Cookies>> {
  const [session, browser] = [newSecret(system), newSecret(system)]
  const row = { userId: user.id, createdAtMs: realNowMs }
  const expiresAtMs = realNowMs + sessionSeconds * 1000
  await insertSession(tx, { ...row, idHash: sha256(session), expiresAtMs, oneClick: isOneClick ? 1 : 0 })
  const browserRow = { ...row, idHash: sha256(browser), expiresAtMs: realNowMs + browserSeconds * 1000 }
  await replaceKnownBrowser(tx, browserRow, before === undefined ? null : sha256(before))
  return { result: { session, browser }, acts: [actOfUser(user, { operation: 'sign_in' })] }
}

/** Replaces a user's password, and signs the user out everywhere. */
export async function replacePassword(store: Store, system: System, userId: string, password: string): Promise<void> {
  await replaceHash({ store, system }, userId, await hashOfPassword(password, system))
}

async function replaceHash(dependencies: Dependencies, userId: string, hash: string): Promise<void> {
  await runSettled(dependencies, async ({ tx }) => {
    await savePassword(tx, { userId, hash })
    // Anyone who signed in with the old password is signed out, and none of the user's browsers counts as known
    // anymore.
    await deleteSessionsOf(tx, userId)
    await deleteSignInLinksOf(tx, userId)
    await deleteKnownBrowsersOf(tx, userId)
  })
}

/** Returns the hash to store for a password that a person chose. */
export function hashOfPassword(password: string, system: System): Promise<string> {
  return hashPassword(password, newSecret(system, 16), system)
}

async function hashPassword(password: string, salt: string, { passwordCost }: System): Promise<string> {
  const { blocks, size, lanes } = passwordCost
  return ['scrypt', blocks, size, lanes, salt, await passwordHash(password, salt, passwordCost)].join('$')
}

/**
 * Returns the hash to store for a generated password. Nobody can guess the 96 random bits of such a password, so a slow
 * hash would only delay the first start.
 */
function hashOfGenerated(password: string, salt: string): string {
  return ['made', salt, sha256(`${salt}${password}`)].join('$')
}

async function matchesPassword(password: string, stored: string, { passwordCost }: System): Promise<boolean> {
  const [scheme, ...parts] = stored.split('$')
  if (scheme === 'made') {
    const [salt = ''] = parts
    // The result of this slow hash is not needed. Computing it makes all attempts take equally long, so that their
    // duration reveals nothing about the account.
    await passwordHash(password, salt, passwordCost)
    return equalSecrets(hashOfGenerated(password, salt), stored)
  }
  const [blocks, size, lanes, salt = '', hash = ''] = parts
  const storedCost = { blocks: Number(blocks), size: Number(size), lanes: Number(lanes) }
  return equalSecrets(await passwordHash(password, salt, storedCost), hash)
}

/**
 * Returns a hash that no password matches, for an account that does not exist. Checking a password against this hash
 * takes as long as checking it against a real one.
 */
function hashOfNobody({ passwordCost: { blocks, size, lanes } }: System): string {
  return ['scrypt', blocks, size, lanes, 'nobody', ''].join('$')
}
