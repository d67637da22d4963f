const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The first Ctrl+C ends the run in order, a second one at once. So does a terminal or a reader that went away. */
export function interruptible(): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
  }
  for (const signal of endings) process.on(signal, stop)
  // Each write to what is gone fails; the report, which nobody reads then, may be one of them.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => controller.abort())
  /** Has Ctrl+C do what it did before. */
  const end = () => {
    for (const signal of endings) process.off(signal, stop)
  }
  return { signal: controller.signal, end }
}
