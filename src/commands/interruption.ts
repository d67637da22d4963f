const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Makes the first Ctrl+C end the run gracefully, and a second Ctrl+C end it at once. A closed terminal or pipe also
 * ends it gracefully.
 */
export function interruptible(): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
  }
  for (const signal of endingSignals) process.on(signal, stop)
  // Every write to a closed stream fails, including the report.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => controller.abort())
  /** Restores the default effect of Ctrl+C. */
  const end = () => {
    for (const signal of endingSignals) process.off(signal, stop)
  }
  return { signal: controller.signal, end }
}
