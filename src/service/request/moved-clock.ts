import { readTimes } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'

/** The smallest difference from the real clock at which the sandbox clock counts as moved. */
const minMovedMs = 1_000

/** Returns the time of the sandbox clock if the clock was moved; undefined if it shows the real time. */
export async function movedClock(store: Store): Promise<number | undefined> {
  const { nowMs, realNowMs } = await store.read(readTimes)
  return Math.abs(nowMs - realNowMs) < minMovedMs ? undefined : nowMs
}
