import { nextTurn, type System } from '../core/system.ts'

/**
 * Returns a system in which a wait moves the clock instead of taking time. Use it only for a world without other users.
 */
export function withInstantSleep(system: System): System {
  let sleptMs = 0
  return {
    ...system,
    now: () => system.now() + sleptMs,
    elapsed: () => system.elapsed() + sleptMs,
    uptime: () => system.uptime() + sleptMs,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      sleptMs += Math.max(0, ms)
      // Other due work runs first, as in any wait.
      await nextTurn()
    },
  }
}
