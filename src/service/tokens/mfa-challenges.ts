import { newId, type System } from '../../core/system.ts'
import { mfaChallengeLifetimeMs } from '../rules/approvals.ts'
import type { Transaction } from '../store/engine/store.ts'
import { isSignatureOf, rootKeys, signaturePattern } from '../store/root-keys.ts'

/** The content of a challenge: the user who must enter a code, and the deadline. */
export interface Challenge {
  userId: string
  expiresAtMs: number
}

/**
 * Creates a challenge for a user. The challenge is the last part of the URL of the page where the user enters a code.
 * The API returns the challenge in an error, and a failed request stores nothing. Therefore the challenge is signed
 * instead of stored. It grants no access: anyone who opens the URL must still sign in as the user and enter the user's
 * code.
 */
export async function newChallenge(tx: Transaction, system: System, userId: string, nowMs: number): Promise<string> {
  // The id encodes the time in its first 48 bits, followed by 80 random bits.
  const id = newId('mfc', system, nowMs)
  return `${id}_${userId}_${(await rootKeys(tx)).sign(challengeText(id, userId))}`
}

/**
 * Returns the content of a challenge, even if it has expired; undefined if this service did not create the challenge.
 */
export async function readChallenge(tx: Transaction, challenge: string): Promise<Challenge | undefined> {
  const [, id, time, userId, signature] = challengePattern.exec(challenge) ?? []
  if (id === undefined || time === undefined || userId === undefined || signature === undefined) return undefined
  if (!(await isSignatureOf(tx, challengeText(id, userId), signature))) return undefined
  return { userId, expiresAtMs: Number.parseInt(time, 16) + mfaChallengeLifetimeMs }
}

const challengePattern = new RegExp(`^(mfc_([0-9a-f]{12})[0-9a-f]{20})_(usr_[0-9a-f]{32})_(${signaturePattern})$`)

function challengeText(id: string, userId: string): string {
  return `multi-factor challenge ${id} ${userId}`
}
