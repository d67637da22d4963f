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

/** The data that identifies where a sign-in attempt comes from. */
export interface SignInPlace {
  /** The client's IP address, for rate limits; undefined for calls within this process. */
  address: string | undefined
  /** The secret from the cookie that a browser gets at a sign-in; undefined if the browser has no such cookie. */
  browser: string | undefined
}

/**
 * The maximum number of wrong passwords for an account from one source (an IP address or a known browser) within
 * `refusalCountsMs`. After that many, even the right password is refused from this source.
 */
const maxPerSource = 10
/**
 * The maximum number of wrong passwords for an account from all IP addresses together within `refusalCountsMs`. This
 * limit stops an attacker who uses many machines.
 */
const maxFromAllAddresses = 500
/** The limits on the number of password checks in one process per minute. Each check takes a lot of time and memory. */
const checkLimits = { each: 30, all: 300, seconds: 60 } as const

/**
 * Creates the limits on password attempts. Attempts are counted for each pair of account and source. A browser in which
 * the user signed in before is a separate source, so that others cannot lock the user out (OWASP: Device Cookies).
 */
export function createPasswordTries(system: System) {
  const allowFromAddress = limitByAddress(system, checkLimits)
  const allowFromBrowser = limitByAddress(system, checkLimits)
  const sinceMs = async (tx: Transaction) => (await realNow(tx)) - refusalCountsMs
  return {
    /** Returns the source of an attempt: the browser if this user signed in there before, otherwise the IP address. */
    sourceOf: async (tx: Transaction, { address, browser }: SignInPlace, user: UserRow | undefined) => {
      const knownBrowser = browser === undefined ? undefined : await findKnownBrowser(tx, sha256(browser))
      const belongsToUser =
        knownBrowser !== undefined && knownBrowser.userId === user?.id && (await realNow(tx)) < knownBrowser.expiresAtMs
      return belongsToUser ? browserSource(knownBrowser.idHash) : address
    },
    /** Counts a password check from the source, and returns whether the check is allowed. */
    mayCheck: (source: string | undefined) =>
      source !== undefined && isBrowser(source) ? allowFromBrowser(source) : allowFromAddress(source),
    /**
     * Returns whether further attempts on the account from this source are refused. The caller must lock the account
     * first, and hold the lock until it has acted on the result.
     */
    isBlocked: async (tx: Transaction, account: string, source = nowhere) => {
      const refusedCounts = await countRefusedPasswords(tx, { account, source, sinceMs: await sinceMs(tx) })
      return refusedCounts.here >= maxPerSource || (!isBrowser(source) && refusedCounts.anywhere >= maxFromAllAddresses)
    },
    noteWrong: async (tx: Transaction, account: string, source = nowhere) => {
      const refusedAtMs = await realNow(tx)
      const id = newId('refusal', system, refusedAtMs)
      return insertRefusedPassword(tx, { id, account, source, refusedAtMs })
    },
    noteRight: (tx: Transaction, account: string, source = nowhere) => forgetRefusedPasswords(tx, account, source),
  }
}

/** The source of calls within this process, which have no address. */
const nowhere = 'nowhere'
