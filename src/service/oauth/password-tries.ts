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

/** The place of a sign-in attempt. */
export interface SignInPlace {
  /** The address by which the client's requests are counted; undefined for calls within this process. */
  address: string | undefined
  /** The secret from the cookie of a browser in which somebody signed in before. */
  browser: string | undefined
}

/**
 * The most wrong passwords for an account at one place within the period. Beyond it, not even the right one is checked
 * there.
 */
const maxPerPlace = 10
/**
 * The most wrong passwords for an account from all unknown places together, so that many machines guess no faster than
 * one.
 */
const maxFromAllPlaces = 500
/** Password checks per minute and process: each costs much time and memory. */
const checksPerAddress = { each: 30, all: 300, seconds: 60 } as const

/**
 * Bounds password attempts without letting strangers lock anybody out (OWASP: Device Cookies). Attempts are counted by
 * account and place, and a browser in which the user signed in before is its own place.
 */
export function createPasswordTries(system: System) {
  const ofStrangers = limitByAddress(system, checksPerAddress)
  const ofBrowsers = limitByAddress(system, checksPerAddress)
  const sinceMs = async (tx: Transaction) => (await realNow(tx)) - refusalCountsMs
  return {
    /** Returns the place under which attempts are counted. */
    sourceOf: async (tx: Transaction, { address, browser }: SignInPlace, user: UserRow | undefined) => {
      const knownBrowser = browser === undefined ? undefined : await findKnownBrowser(tx, sha256(browser))
      const isTheirs =
        knownBrowser !== undefined && knownBrowser.userId === user?.id && (await realNow(tx)) < knownBrowser.expiresAtMs
      return isTheirs ? browserSource(knownBrowser.idHash) : address
    },
    /** Returns whether one more password may be checked there. */
    mayLook: (source: string | undefined) =>
      source !== undefined && isBrowser(source) ? ofBrowsers(source) : ofStrangers(source),
    /** Returns whether the account is closed at the place. Call this and act on it under the account's lock. */
    isClosed: async (tx: Transaction, account: string, source = nowhere) => {
      const refusedCounts = await countRefusedPasswords(tx, { account, source, sinceMs: await sinceMs(tx) })
      return refusedCounts.here >= maxPerPlace || (!isBrowser(source) && refusedCounts.anywhere >= maxFromAllPlaces)
    },
    noteWrong: async (tx: Transaction, account: string, source = nowhere) => {
      const refusedAtMs = await realNow(tx)
      const id = newId('refusal', system, refusedAtMs)
      return insertRefusedPassword(tx, { id, account, source, refusedAtMs })
    },
    noteRight: (tx: Transaction, account: string, source = nowhere) => forgetRefusedPasswords(tx, account, source),
  }
}

/** The place of calls within this process, which have no address. */
const nowhere = 'nowhere'
