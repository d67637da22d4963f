import type { System } from '../../core/system.ts'

/** A balancer asks more often than that. */
const askedWithinMs = 30_000
/** How long requests are still served after a balancer could have learnt that no more should be sent here. */
const graceMs = 3_000

/** Whether requests should be sent to this process. */
export interface Readiness {
  /** Returns whether they should, for a prober that asks now and then. */
  ask(): boolean
  isEnding(): boolean
  /** Answers no from now on, and resolves when a prober has had time to notice. */
  end(): Promise<void>
}

/** @param ended Called when no more should be sent here. */
export function createReadiness(system: System, ended: () => void): Readiness {
  let askedAtMs = Number.NEGATIVE_INFINITY
  let ending = false
  return {
    ask: () => {
      askedAtMs = system.elapsed()
      return !ending
    },
    isEnding: () => ending,
    end: async () => {
      ending = true
      ended()
      // If nothing polls readiness, such as on a person's own machine, there is no need to wait.
      if (system.elapsed() - askedAtMs <= askedWithinMs) await system.sleep(graceMs)
    },
  }
}
