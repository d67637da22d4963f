import { timestamp } from '../../../core/system.ts'
import { mfaChallengeLifetimeMs, mfaThresholdCents } from '../../rules/approvals.ts'
import { maxRefused, triesWindowMs } from '../../rules/second-factor.ts'
import { dollars } from '../frame/texts.ts'
import type { CodeResult, Verification } from './second-factor.ts'

/** The texts of the page where a user enters a code, as plain text and not as HTML. */
export interface VerifyWords {
  title: string
  heading: string
  lines: string[]
  /** Whether the user can enter a code. */
  asksForCode: boolean
  /** The problem with the submitted code; null if there is none. */
  problem: string | null
}

const large = `more than ${dollars(mfaThresholdCents)}`

export function verifyWords(verification: Verification, result: CodeResult | null): VerifyWords {
  const { verifiedUntilMs } = verification
  const problem = result === null ? null : codeProblem(result)
  // After a double click, the second request finds that the first request has already used the code.
  if (verifiedUntilMs !== null && (problem === null || result?.verdict === 'used')) {
    return {
      title: 'Verified',
      heading: 'Verified',
      lines: [
        `You can approve again now. Until ${momentOf(verifiedUntilMs)}, approvals of ${large} need no further code.`,
        'You can close this page.',
        ...(problem === null ? [] : [problem]),
      ],
      asksForCode: false,
      problem: null,
    }
  }
  if (verification.expired) {
    const text = `This link expired after ${mfaChallengeLifetimeMs / 60_000} minutes. Approve again to get a new one.`
    return { title: 'Expired', heading: 'Expired', lines: [text], asksForCode: false, problem: null }
  }
  const heading = 'Confirm that it is you'
  return {
    title: problem === null ? heading : `Error: ${heading}`,
    heading,
    lines: [`Approving ${large} needs a code from your authenticator app.`],
    asksForCode: true,
    problem,
  }
}

/** Returns the problem with a code; null if there is none. */
export function codeProblem(result: CodeResult): string | null {
  if (result.verdict !== 'too_many') return problems[result.verdict]
  const minutes = Math.ceil(result.retryAfterSeconds / 60)
  const rule = `${maxRefused} in ${triesWindowMs / 60_000} minutes`
  return `Too many codes were refused (${rule}). Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`
}

const problems = {
  accepted: null,
  // No text is needed, because the page itself says that the link has expired.
  challenge_expired: null,
  malformed: 'Enter the 6 digits that the app shows.',
  wrong: 'This code is wrong. Enter the code that the app shows now.',
  expired: 'This code has expired. Enter the code that the app shows now.',
  used: 'This code has already been used. Each code works only once. Wait for the next one.',
} as const satisfies Record<Exclude<CodeResult['verdict'], 'too_many'>, string | null>

function momentOf(ms: number): string {
  return `${timestamp(ms).slice(11, 19)} UTC`
}
