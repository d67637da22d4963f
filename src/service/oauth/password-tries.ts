import { newId, type System, sha256 } from '../../core/system.ts'
import { limitByAddress } from '../../core/tries.ts'
import { findKnownBrowser } from '../store/browser-sessions.ts'
import { realNow } from '../store/clock.ts'
import type { Transaction } from '../store/engine/store.ts'
import {
  browserSource,
  countRefusedPasswords,
  forgetRefusedPasswords,
  insertRefusedPassword,
  isBrowser,
  refusalCountsMs,
} from '../store/passwords.ts'
import type { UserRow } from '../store/schema/users.ts'

/** Where somebody signs in. */
export interface SignInPlace {
  /** What the client is counted by; undefined: it calls within this process. */
  address: string | undefined
  /** The secret of a browser in which somebody signed in before, as its cookie has it. */
  browser: string | undefined
}

/**
 * Wrong passwords of an account at one place within the time, after which even the right one is not looked at there.
 */
const mostHere = 10
/**
 * How many wrong passwords an account takes from all places where nobody signed in before: many machines guess no
 * faster than one with patience.
 */
const mostAnywhere = 500
/** Passwords looked at in a minute, in one process: each costs much time and memory. */
const looked = { each: 30, all: 300, seconds: 60 } as const

/**
 * Bounds how often passwords are tried without letting strangers lock anybody out (OWASP: Device Cookies): what counts is
 * the account and the place together, and a browser in which the user signed in before is a place of its own.
 */
export function createPasswordTries(system: System) {
  const ofStrangers = limitByAddress(system, looked)
  const ofBrowsers = limitByAddress(system, looked)
  const sinceMs = async (tx: Transaction) => (await realNow(tx)) - refusalCountsMs
  return {
    /** The place, as it is counted. */
    sourceOf: async (tx: Transaction, { address, browser }: SignInPlace, user: UserRow | undefined) => {
      const known = browser === undefined ? undefined : await findKnownBrowser(tx, sha256(browser))
      const isTheirs = known !== undefined && known.userId === user?.id && (await realNow(tx)) < known.expiresAtMs
      return isTheirs ? browserSource(known.idHash) : address
    },
    /** Whether one more password may be looked at there. */
    mayLook: (source: string | undefined) =>
      source !== undefined && isBrowser(source) ? ofBrowsers(source) : ofStrangers(source),
    /** Whether the account is closed at the place. To be asked, with what follows, under the account's lock. */
    isClosed: async (tx: Transaction, account: string, source = nowhere) => {
      const refused = await countRefusedPasswords(tx, { account, source, sinceMs: await sinceMs(tx) })
      return refused.here >= mostHere || (!isBrowser(source) && refused.anywhere >= mostAnywhere)
    },
    noteWrong: async (tx: Transaction, account: string, source = nowhere) => {
      const refusedAtMs = await realNow(tx)
      const id = newId('refusal', system, refusedAtMs)
      return insertRefusedPassword(tx, { id, account, source, refusedAtMs })
    },
    noteRight: (tx: Transaction, account: string, source = nowhere) => forgetRefusedPasswords(tx, account, source),
  }
}

/** Calls within this process have no address. */
const nowhere = 'nowhere'
