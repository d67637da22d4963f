import { nextTurn, type System } from '../core/system.ts'

/**
 * Returns a system in which a wait moves the clock instead of taking time. Use it only for a world without other users.
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
