import { readTimes } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'

/** Real time goes on while the sandbox's is read, and moving the clock by less is not worth a word. */
const shownFromMs = 1_000

/** Returns the sandbox's time if its clock was moved; undefined if it is real time. */
export async function movedClock(store: Store): Promise<number | undefined> {
  const { nowMs, realNowMs } = await store.read(readTimes)
  return Math.abs(nowMs - realNowMs) < shownFromMs ? undefined : nowMs
}
