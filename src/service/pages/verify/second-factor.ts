import type { TOTP } from 'otpauth'
import type { Environment } from '../../../core/operation.ts'
import { newSecret } from '../../../core/system.ts'
import { actOfUser } from '../../request/activity.ts'
import type { SettledContext } from '../../request/due-effects.ts'
import { type Changed, type Dependencies, runChange, runSettled, unchanged } from '../../request/settled-transaction.ts'
import { mfaLifetimeMs } from '../../rules/approvals.ts'
import { blockedUntilMs, judge, stepSeconds, type Verdict } from '../../rules/second-factor.ts'
import { derivedSecret, rootKeys } from '../../store/root-keys.ts'
import type { SecondFactorRow } from '../../store/schema/second-factors.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { findSecondFactor, lockSecondFactor, saveSecondFactor } from '../../store/second-factors.ts'
import { findUser, markVerified } from '../../store/users.ts'
import { type Challenge, readChallenge } from '../../tokens/mfa-challenges.ts'
import { secondFactorText } from '../../tokens/record-texts.ts'

/** The state of a second-factor check, as shown to the user. */
export interface Verification {
  /** Whether the link to the check has expired. */
  expired: boolean
  /** The time until which the user may approve large payments; null if that time has passed or was never set. */
  verifiedUntilMs: number | null
  /** Whether the user has set up an authenticator app. */
  isEnrolled: boolean
}

/** The secret to enter in an authenticator app. It is shown only once. */
export interface AppSecret {
  base32: string
  /** `otpauth://totp/…` */
  address: string
}

export type CodeResult =
  | { verdict: Exclude<Verdict, 'too_many'> | 'malformed' | 'challenge_expired' }
  | { verdict: 'too_many'; retryAfterSeconds: number }

export type Enrollment = 'none' | 'begun' | 'enrolled'

/**
 * The operations on a signed-in user's second factor. The challenge in a page's URL identifies one verification, but
 * gives no access by itself.
 */
export interface SecondFactor {
  /** Returns the state of the check; undefined if the challenge is invalid or belongs to another user. */
  open(challenge: string, user: UserRow): Promise<Verification | undefined>
  /**
   * Checks a code by the real clock. If the code is right, records when the user was verified, by the service's clock;
   * in the sandbox, that is the sandbox clock. Returns undefined in the same cases as `open`.
   */
  verify(
    challenge: string,
    user: UserRow,
    code: string,
  ): Promise<{ result: CodeResult; after: Verification } | undefined>
  enrollment(user: UserRow): Promise<Enrollment>
  /**
   * Creates a secret for the user's app, and discards an earlier secret that was not confirmed. Returns undefined if
   * the user is already enrolled.
   */
  begin(user: UserRow): Promise<AppSecret | undefined>
  /**
   * Checks the app's first code and enrolls the user if the code is right. Returns undefined if no setup is in
   * progress.
   */
  confirm(user: UserRow, code: string): Promise<CodeResult | undefined>
}

/** Loads the library on first use. So starting a stdio server does not load it. */
const library = () => import('otpauth')

export function createSecondFactor(dependencies: SecondFactorDependencies): SecondFactor {
  const { environment } = dependencies
  const checkOf = async (context: SettledContext, user: UserRow): Promise<Check> => {
    return { ...context, environment, user: (await findUser(context.tx, user.id)) ?? user }
  }
  return {
    open: (text, user) =>
      runSettled(dependencies, async (context) => {
        const check = await checkOf(context, user)
        const challenge = await challengeOf(check, text)
        return challenge && viewOf(check, challenge)
      }),
    verify: (text, user, code) =>
      runChange(dependencies, async (context) => {
        const check = await checkOf(context, user)
        const challenge = await challengeOf(check, text)
        if (challenge === undefined) return unchanged(undefined)
        const { result, acts } = await verifyCode(check, challenge, code)
        const accepted = result.verdict === 'accepted' ? { mfaVerifiedAtMs: context.nowMs } : {}
        const after = await viewOf({ ...check, user: { ...check.user, ...accepted } }, challenge)
        return { result: { result, after }, acts }
      }),
    enrollment: (user) =>
      dependencies.store.read(async (tx) => {
        const { seed, pendingSeed } = await findSecondFactor(tx, user.id)
        return seed !== null ? 'enrolled' : pendingSeed !== null ? 'begun' : 'none'
      }),
    begin: (user) => runChange(dependencies, async (context) => begin(await checkOf(context, user))),
    confirm: (user, code) => runChange(dependencies, async (context) => confirm(await checkOf(context, user), code)),
  }
}

interface SecondFactorDependencies extends Dependencies {
  environment: Environment
}

interface Check extends SettledContext {
  environment: Environment
  user: UserRow
}

/** Returns the challenge in `text`; undefined if the challenge is invalid or belongs to another user. */
async function challengeOf({ tx, user }: Check, text: string): Promise<Challenge | undefined> {
  const challenge = await readChallenge(tx, text)
  return challenge?.userId === user.id ? challenge : undefined
}

async function begin(check: Check): Promise<Changed<AppSecret | undefined>> {
  const { tx, system, user } = check
  const row = await lockSecondFactor(tx, user.id)
  if (row.seed !== null) return unchanged(undefined)
  const pendingSeed = `${(await rootKeys(tx)).newestId}.${newSecret(system, 16)}`
  await saveSecondFactor(tx, { ...row, pendingSeed })
  const totp = await totpOf(check, pendingSeed)
  const act = actOfUser(user, { operation: 'begin_second_factor' })
  return { result: { base32: totp.secret.base32, address: totp.toString() }, acts: [act] }
}

async function confirm(check: Check, code: string): Promise<Changed<CodeResult | undefined>> {
  const { tx, user } = check
  const row = await lockSecondFactor(tx, user.id)
  if (row.pendingSeed === null) return unchanged(undefined)
  const result = await judgeCode(check, row, row.pendingSeed, code, { seed: row.pendingSeed, pendingSeed: null })
  const act = actOfUser(user, { operation: 'enrol_second_factor' })
  return { result, acts: result.verdict === 'accepted' ? [act] : [] }
}

async function verifyCode(check: Check, challenge: Challenge, code: string): Promise<Changed<CodeResult>> {
  const { tx, nowMs, user } = check
  if (isOver(check, challenge)) return unchanged({ verdict: 'challenge_expired' })
  const row = await lockSecondFactor(tx, user.id)
  if (row.seed === null) return unchanged({ verdict: 'malformed' })
  const result = await judgeCode(check, row, row.seed, code, {})
  if (result.verdict !== 'accepted') return { result, acts: [] }
  await markVerified(tx, user.id, nowMs)
  return { result, acts: [actOfUser(user, { operation: 'verify_second_factor' })] }
}

function isOver({ nowMs }: Check, { expiresAtMs }: Challenge): boolean {
  return nowMs >= expiresAtMs
}

/**
 * The number of time steps that are searched before and after the present step. Fewer steps are accepted than searched,
 * so that a late code can be reported as expired instead of wrong.
 */
const searchedSteps = 10

/** Checks a code from the app. Saves the attempt if it counts. If the code is right, also saves `change`. */
async function judgeCode(
  check: Check,
  row: SecondFactorRow,
  seed: string,
  code: string,
  change: Partial<SecondFactorRow>,
): Promise<CodeResult> {
  const token = code.replace(/\s/g, '')
  // A malformed code cannot be right, so it does not count as an attempt.
  if (!/^\d{6}$/.test(token)) return { verdict: 'malformed' }
  const before = { lastStep: row.lastStep, refusedAtMs: JSON.parse(row.refusedAtMs) as number[] }
  const { realNowMs } = check
  const totp = await totpOf(check, seed)
  const presentStep = totp.counter({ timestamp: realNowMs })
  const delta = totp.validate({ token, timestamp: realNowMs, window: searchedSteps })
  const step = delta === null ? null : presentStep + delta
  const { verdict, tries } = judge(before, { step, presentStep, nowMs: realNowMs })
  if (verdict === 'too_many') {
    const untilMs = blockedUntilMs(before, realNowMs) ?? realNowMs
    return { verdict, retryAfterSeconds: Math.max(1, Math.ceil((untilMs - realNowMs) / 1000)) }
  }
  const { lastStep, refusedAtMs } = tries
  const after = { ...row, lastStep, refusedAtMs: JSON.stringify(refusedAtMs) }
  await saveSecondFactor(check.tx, verdict === 'accepted' ? { ...after, ...change } : after)
  return { verdict }
}

/**
 * Returns a generator of the codes that the user's app shows. The service does not store the app's secret, but derives
 * it from the seed and from the root key whose id is in the seed. All apps support SHA-1 and secrets of 160 bits
 * (Google's key URI format; RFC 4226 section 4).
 */
async function totpOf({ tx, environment, user }: Check, seed: string): Promise<TOTP> {
  const { Secret, TOTP } = await library()
  const [keyId = '', nonce = ''] = seed.split('.')
  const derived = await derivedSecret(tx, Number(keyId), secondFactorText(user.id, nonce))
  const secret = Secret.fromHex(derived.slice(0, 40))
  const issuer = environment === 'sandbox' ? 'Payments sandbox' : 'Payments'
  return new TOTP({ issuer, label: user.email, secret, digits: 6, period: stepSeconds })
}

async function viewOf(check: Check, challenge: Challenge): Promise<Verification> {
  const { tx, nowMs, user } = check
  const { mfaVerifiedAtMs } = user
  const untilMs = mfaVerifiedAtMs === null ? null : mfaVerifiedAtMs + mfaLifetimeMs
  return {
    expired: isOver(check, challenge),
    verifiedUntilMs: untilMs !== null && nowMs <= untilMs ? untilMs : null,
    isEnrolled: (await findSecondFactor(tx, user.id)).seed !== null,
  }
}
