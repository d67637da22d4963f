const measuredCpuMs = 20

/** Returns the factor by which other processes slow down this process at the moment; 1 on an idle machine. */
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
 * Returns an estimate of how long a step would have taken on an idle machine. If the step took less time than promised,
 * returns `tookMs` without measuring the load.
 */
export function idleMachineMs(tookMs: number, promisedMs: number): number {
  return tookMs < promisedMs ? tookMs : tookMs / slowdown()
}
