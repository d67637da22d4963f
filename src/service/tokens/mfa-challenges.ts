import { newId, type System } from '../../core/system.ts'
import { mfaChallengeLifetimeMs } from '../rules/approvals.ts'
import type { Transaction } from '../store/engine/store.ts'
import { isSignatureOf, rootKeys, signaturePattern } from '../store/root-keys.ts'

/** What a challenge says: who is to verify, and until when. */
export interface Challenge {
  userId: string
  expiresAtMs: number
}

/**
 * A challenge for a user: the last part of the address of their check. It is signed and not stored, because the refusal
 * that names it undoes what its handler wrote, and because refusals should not fill tables. It proves nothing: whoever
 * has it is to sign in as the user and is asked for their code.
 */
export async function newChallenge(tx: Transaction, system: System, userId: string, nowMs: number): Promise<string> {
  // Its time is in the id: 48 bits of it, before 80 random ones.
  const id = newId('mfc', system, nowMs)
  return `${id}_${userId}_${(await rootKeys(tx)).sign(signed(id, userId))}`
}

/** What a challenge of this service's says, also after it expired; undefined for anything else. */
export async function readChallenge(tx: Transaction, text: string): Promise<Challenge | undefined> {
  const [, id, time, userId, signature] = challengePattern.exec(text) ?? []
  if (id === undefined || time === undefined || userId === undefined || signature === undefined) return undefined
  if (!(await isSignatureOf(tx, signed(id, userId), signature))) return undefined
  return { userId, expiresAtMs: Number.parseInt(time, 16) + mfaChallengeLifetimeMs }
}

const challengePattern = new RegExp(`^(mfc_([0-9a-f]{12})[0-9a-f]{20})_(usr_[0-9a-f]{32})_(${signaturePattern})$`)

function signed(id: string, userId: string): string {
  return `multi-factor challenge ${id} ${userId}`
}
