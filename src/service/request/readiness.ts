import type { System } from '../../core/system.ts'

/** If nothing has polled for this long, there is no load balancer. A load balancer polls more often. */
const askedWithinMs = 30_000
/**
 * How long a process that is shutting down keeps serving requests, so that load balancers notice that it is not ready.
 */
const graceMs = 3_000

/** Whether this process is ready for requests. */
export interface Readiness {
  /** Returns whether this process is ready. Load balancers poll it. */
  ask(): boolean
  isEnding(): boolean
  /** Makes `ask` return false from now on. Resolves once a load balancer has had time to notice this. */
  end(): Promise<void>
}

/** Creates the readiness of this process. @param ended Called when no more requests should be sent here. */
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
