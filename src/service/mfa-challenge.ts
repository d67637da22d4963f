import { equalSecrets, hmac, newId, type System } from '../system.ts'
import { mfaChallengeLifetimeMs } from './domain/approvals.ts'
import { checkoutKey } from './store/checkout-key.ts'
import type { Transaction } from './store/store.ts'

/** What a challenge says: who is to verify, and until when. */
export interface Challenge {
  userId: string
  expiresAtMs: number
}

/**
 * A challenge for a user: the last part of the address of their check. It is signed and not stored, because the refusal
 * that names it undoes what its handler wrote, and because refusals should not fill tables. It proves nothing: whoever
 * has it is asked for the user's code.
 */
export async function newChallenge(tx: Transaction, system: System, userId: string, nowMs: number): Promise<string> {
  // Its time is in the id: 48 bits of it, before 80 random ones.
  const id = newId('mfc', system, nowMs)
  return `${id}_${userId}_${await signature(tx, system, id, userId)}`
}

/** What a challenge of this service's says, also after it expired; undefined for anything else. */
export async function readChallenge(tx: Transaction, system: System, text: string): Promise<Challenge | undefined> {
  const [, id, time, userId, signed] =
    /^(mfc_([0-9a-f]{12})[0-9a-f]{20})_(usr_[0-9a-f]{32})_([0-9a-f]{64})$/.exec(text) ?? []
  if (id === undefined || time === undefined || userId === undefined || signed === undefined) return undefined
  if (!equalSecrets(signed, await signature(tx, system, id, userId))) return undefined
  return { userId, expiresAtMs: Number.parseInt(time, 16) + mfaChallengeLifetimeMs }
}

async function signature(tx: Transaction, system: System, id: string, userId: string): Promise<string> {
  return hmac(await checkoutKey(tx, system), `multi-factor challenge ${id} ${userId}`)
}
