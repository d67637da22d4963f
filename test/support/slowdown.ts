const measuredCpuMs = 20

/** Returns the factor by which other processes slow this one down now; 1 on an idle machine. */
function slowdown(): number {
  const startMs = performance.now()
  const start = process.cpuUsage()
  for (;;) {
    const { user, system } = process.cpuUsage(start)
    const cpuMs = (user + system) / 1000
    if (cpuMs >= measuredCpuMs) return Math.max(1, (performance.now() - startMs) / cpuMs)
  }
}

/**
 * Returns an estimate of the time that a step would have taken on an idle machine. Measures the load only if the step
 * took longer than promised.
 */
export function idleMachineMs(tookMs: number, promisedMs: number): number {
  return tookMs < promisedMs ? tookMs : tookMs / slowdown()
}
