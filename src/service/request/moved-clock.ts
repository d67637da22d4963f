import { readTimes } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'

/**
 * The smallest difference to show. Real time passes while the sandbox's time is read, so smaller differences mean
 * nothing.
 */
const shownFromMs = 1_000

/** Returns the sandbox's time if its clock was moved; undefined if it is real time. */
export async function movedClock(store: Store): Promise<number | undefined> {
  const { nowMs, realNowMs } = await store.read(readTimes)
  return Math.abs(nowMs - realNowMs) < shownFromMs ? undefined : nowMs
}
