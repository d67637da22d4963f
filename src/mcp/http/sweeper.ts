import type { Log } from '../../client/client.ts'
import type { SessionStore } from '../../core/session-store.ts'
import { deadline, type System } from '../../core/system.ts'
import type { Limits } from './limits.ts'

export type Sweeper = ReturnType<typeof createSweeper>

interface SweeperOptions {
  store: SessionStore
  system: Pick<System, 'now'>
  limits: Pick<Limits, 'idleMs' | 'eventKeptMs' | 'mailKeptMs' | 'sweepMs'>
  log: Log
}

/**
 * The maximum number of delivered streams that one sweep deletes early. The events of further streams are deleted when
 * they expire.
 */
const maxDelivered = 10_000

type Delivered = Parameters<SessionStore['forgetEvents']>

/** Creates the background job that deletes stored data that has expired or has been delivered. */
export function createSweeper({ store, system, limits, log }: SweeperOptions) {
  // A delivered event may still be lost in transit. So it stays in the store for at least `sweepMs` longer, in case the
  // host reconnects.
  let delivered: Delivered[] = []
  let settled: Delivered[] = []
  let running: Promise<void> = Promise.resolve()
  let timer: ReturnType<typeof deadline> | undefined
  const sweep = async () => {
    const forgotten = settled
    settled = delivered
    delivered = []
    try {
      for (const stream of forgotten) await store.forgetEvents(...stream)
      const nowMs = system.now()
      await store.sweep({
        usedSinceMs: nowMs - limits.idleMs,
        eventsSinceMs: nowMs - limits.eventKeptMs,
        mailSinceMs: nowMs - limits.mailKeptMs,
      })
    } catch (error) {
      log.warn({ err: error }, 'expired session data could not be deleted')
    }
  }
  const tick = () => {
    running = sweep().then(() => {
      if (timer !== undefined) timer = deadline(limits.sweepMs, tick)
    })
  }
  timer = deadline(0, tick)
  return {
    /** Records that all events of a stream up to the given one were delivered. */
    recordDelivery: (...stream: Delivered) => {
      if (delivered.length < maxDelivered) delivered.push(stream)
    },
    close: async () => {
      timer?.clear()
      timer = undefined
      await running
    },
  }
}
