import { nextTurn, type System } from '../core/system.ts'

/**
 * Returns a system whose `sleep` moves the system's own clock forward instead of waiting. Use the system only for a
 * world that no other process uses.
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
      // Lets other pending tasks run first, as a real wait does.
      await nextTurn()
    },
  }
}
