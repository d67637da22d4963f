/**
 * Calls `work` for the items in order, for at most `concurrency` items at a time, until the signal aborts. The first
 * error aborts the calls that are still running, and is thrown once all of them have ended.
 */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  { concurrency, signal }: { concurrency: number; signal: AbortSignal },
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const waiting = [...items]
  const failing = new AbortController()
  const over = AbortSignal.any([signal, failing.signal])
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined && !over.aborted; item = waiting.shift()) {
      try {
        await work(item, over)
      } catch (error) {
        // An error after an abort is only a consequence of the abort.
        if (over.aborted) return
        failing.abort()
        throw error
      }
    }
  }
  const workers = Array.from({ length: Math.min(concurrency, items.length) }, worker)
  for (const outcome of await Promise.allSettled(workers)) if (outcome.status === 'rejected') throw outcome.reason
}
