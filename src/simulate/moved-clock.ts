import { nextTurn, type System } from '../core/system.ts'

/**
 * A system whose clock a wait moves instead of taking its time: whoever waits a second for a repeat finds that it has
 * passed. For a world that nobody else looks at.
 */
export function clockMovedByWaits(system: System): System {
  let waitedMs = 0
  return {
    ...system,
    now: () => system.now() + waitedMs,
    elapsed: () => system.elapsed() + waitedMs,
    uptime: () => system.uptime() + waitedMs,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      waitedMs += Math.max(0, ms)
      // Other due work runs first, as in any wait.
      await nextTurn()
    },
  }
}
