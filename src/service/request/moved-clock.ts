import { readTimes } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'

/** Smaller differences are not shown, because real time passes while the sandbox's time is read. */
const shownFromMs = 1_000

/** Returns the sandbox's time if its clock was moved; undefined if it is real time. */
export async function movedClock(store: Store): Promise<number | undefined> {
  const { nowMs, realNowMs } = await store.read(readTimes)
  return Math.abs(nowMs - realNowMs) < shownFromMs ? undefined : nowMs
}
