import type { System } from '../../core/system.ts'

/** The longest interval at which load balancers poll. If the last poll was longer ago, none seems to be in use. */
const maxPollIntervalMs = 30_000
/** How long a process that is ending still serves requests. Meanwhile, load balancers notice that it is not ready. */
const graceMs = 3_000

/** The readiness of this process for requests. */
export interface Readiness {
  /** Returns whether this process is ready. Called when a load balancer polls. */
  ask(): boolean
  isEnding(): boolean
  /** Makes `ask` return false from now on. Resolves once load balancers have had time to notice. */
  end(): Promise<void>
}

/**
 * Creates the readiness of this process.
 * @param ended A function that is called as soon as the process begins to end.
 */
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
      // If no load balancer polls, as on a developer's machine, there is no need to wait.
      if (system.elapsed() - askedAtMs <= maxPollIntervalMs) await system.sleep(graceMs)
    },
  }
}
