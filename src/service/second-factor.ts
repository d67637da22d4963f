import type { TOTP } from 'otpauth'
import type { Environment } from '../operation.ts'
import type { System } from '../system.ts'
import { recordUsersAct } from './activity.ts'
import { mfaLifetimeMs } from './domain/approvals.ts'
import { blockedUntilMs, judge, stepSeconds, type Verdict } from './domain/second-factor.ts'
import { type Challenge, readChallenge } from './mfa-challenge.ts'
import { rootKeys } from './store/root-keys.ts'
import { findUser, lockSecondFactor, markVerified, saveSecondFactor } from './store/second-factors.ts'
import type { Store, Transaction } from './store/store.ts'
import type { UserRow } from './store/tables.ts'
import { settledNow } from './time.ts'

/** What a user sees who was sent to verify. */
export interface Verification {
  name: string
  /** The address works no more. */
  expired: boolean
  /** Until when, by the service's time, large approvals of the user's go through; null without a recent check. */
  verifiedUntilMs: number | null
  /** What an authenticator app needs. Only in the sandbox, which has no account pages to enrol at. */
  enrolment: Enrolment | null
}

export interface Enrolment {
  base32: string
  /** `otpauth://totp/…` */
  address: string
  stepSeconds: number
  /** For how many more seconds the present code is the app's; it is accepted for one step longer. */
  remainingSeconds: number
}

export type CodeResult =
  | { verdict: Exclude<Verdict, 'too_many'> | 'malformed' | 'challenge_expired' }
  | { verdict: 'too_many'; retryAfterSeconds: number }

/** The check of a second factor, opened with the challenge in its address instead of a credential. */
export interface SecondFactor {
  open(challenge: string): Promise<Verification | undefined>
  /** Judges a code by real time; when it is right, the user's check counts from now by the service's time. */
  verify(challenge: string, code: string): Promise<{ result: CodeResult; after: Verification } | undefined>
}

/** The library is loaded with the first page: a stdio server starts without it. */
const library = () => import('otpauth')

export function createSecondFactor(store: Store, system: System, environment: Environment): SecondFactor {
  const withChallenge = <T>(text: string, use: (check: Check) => Promise<T>) =>
    store.transaction(async (tx) => {
      const nowMs = await settledNow(tx, system)
      const challenge = await readChallenge(tx, text)
      const user = challenge && (await findUser(tx, challenge.userId))
      if (challenge === undefined || user === undefined) return undefined
      return use({ tx, system, environment, nowMs, challenge, user, totp: await totpOf(tx, user) })
    })
  return {
    open: (challenge) => withChallenge(challenge, async (check) => viewOf(check)),
    verify: (challenge, code) =>
      withChallenge(challenge, async (check) => {
        const result = await tryCode(check, code)
        const user = result.verdict === 'accepted' ? { ...check.user, mfaVerifiedAtMs: check.nowMs } : check.user
        return { result, after: viewOf({ ...check, user }) }
      }),
  }
}

interface Check {
  tx: Transaction
  system: System
  environment: Environment
  /** The service's time. */
  nowMs: number
  challenge: Challenge
  user: UserRow
  totp: TOTP
}

/** Further than codes are accepted, so that a late one is called late. */
const searchedSteps = 10

async function tryCode({ tx, system, nowMs, challenge, user, totp }: Check, code: string): Promise<CodeResult> {
  if (nowMs >= challenge.expiresAtMs) return { verdict: 'challenge_expired' }
  const token = code.replace(/\s/g, '')
  // Not a try: it could not have been right.
  if (!/^\d{6}$/.test(token)) return { verdict: 'malformed' }
  const row = await lockSecondFactor(tx, user.id)
  const before = { lastStep: row.lastStep, refusedAtMs: JSON.parse(row.refusedAtMs) as number[] }
  const realNowMs = system.now()
  const presentStep = totp.counter({ timestamp: realNowMs })
  const delta = totp.validate({ token, timestamp: realNowMs, window: searchedSteps })
  const step = delta === null ? null : presentStep + delta
  const { verdict, tries } = judge(before, { step, presentStep, nowMs: realNowMs })
  if (verdict === 'too_many') {
    const untilMs = blockedUntilMs(before, realNowMs) ?? realNowMs
    return { verdict, retryAfterSeconds: Math.max(1, Math.ceil((untilMs - realNowMs) / 1000)) }
  }
  const { lastStep, refusedAtMs } = tries
  await saveSecondFactor(tx, { userId: user.id, lastStep, refusedAtMs: JSON.stringify(refusedAtMs) })
  if (verdict === 'accepted') {
    await markVerified(tx, user.id, nowMs)
    await recordUsersAct({ tx, system, nowMs }, user, { operation: 'verify_second_factor', resourceIds: [user.id] })
  }
  return { verdict }
}

/**
 * A user's codes. Their secret has to be at hand for each check, so it cannot be kept as a hash; instead it is derived
 * from the service's key, as client secrets are, and stored nowhere. 160 bits and SHA-1 are what every app understands
 * (RFC 4226 section 4; Google's key URI format).
 */
async function totpOf(tx: Transaction, user: UserRow): Promise<TOTP> {
  const { Secret, TOTP } = await library()
  // Of the first key: what an authenticator app was given once does not change with the keys.
  const derived = (await rootKeys(tx)).derive(1, `second factor ${user.id}`)
  const secret = Secret.fromHex(derived.slice(0, 40))
  return new TOTP({ issuer: 'Payments sandbox', label: user.email, secret, digits: 6, period: stepSeconds })
}

function viewOf({ system, environment, nowMs, challenge, user, totp }: Check): Verification {
  const { mfaVerifiedAtMs, name } = user
  const untilMs = mfaVerifiedAtMs === null ? null : mfaVerifiedAtMs + mfaLifetimeMs
  return {
    name,
    expired: nowMs >= challenge.expiresAtMs,
    verifiedUntilMs: untilMs !== null && nowMs <= untilMs ? untilMs : null,
    enrolment: environment === 'sandbox' ? enrolmentOf(totp, system.now()) : null,
  }
}

function enrolmentOf(totp: TOTP, realNowMs: number): Enrolment {
  const remainingSeconds = Math.ceil(totp.remaining({ timestamp: realNowMs }) / 1000)
  return { base32: totp.secret.base32, address: totp.toString(), stepSeconds, remainingSeconds }
}
