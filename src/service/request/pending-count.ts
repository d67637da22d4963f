import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import { countWaiting } from '../store/pending-decisions.ts'

/** Returns how many calls and payments wait for a decision of a party's users. It counts at most `limit` of each. */
export function pendingCount(store: Store, partyId: string, limit: number): Promise<number> {
  return store.read(async (tx) => countWaiting(tx, { partyId, nowMs: await realNow(tx), limit }))
}
