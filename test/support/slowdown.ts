const worksMs = 20

/** Returns how many times longer a process takes here than on an idle machine; 1 if the machine is idle. */
function slowdown(): number {
  const startMs = performance.now()
  const start = process.cpuUsage()
  for (;;) {
    const { user, system } = process.cpuUsage(start)
    const workedMs = (user + system) / 1000
    if (workedMs >= worksMs) return Math.max(1, (performance.now() - startMs) / workedMs)
  }
}

/**
 * Returns the time that a step would have taken on an idle machine. Measures the load only if the step took longer than
 * promised.
 */
export function idleMachineMs(tookMs: number, promisedMs: number): number {
  return tookMs < promisedMs ? tookMs : tookMs / slowdown()
}
