const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Returns a signal that aborts on the first Ctrl+C or SIGTERM, or when the terminal or an output pipe is closed. The
 * command can then finish gracefully. A second Ctrl+C ends the process immediately.
 */
export function interruptible(): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
  }
  for (const signal of endingSignals) process.on(signal, stop)
  // A failed write means that the pipe is closed, so nobody can read the output.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => controller.abort())
  /** Restores the default effect of Ctrl+C and of the other ending signals. */
  const end = () => {
    for (const signal of endingSignals) process.off(signal, stop)
  }
  return { signal: controller.signal, end }
}
