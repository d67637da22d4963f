import type { Logger } from '../../config/log.ts'
import { deadline } from '../../core/system.ts'
import { keepHighest, readTimes } from '../store/clock.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'
import { purgeAnswers } from './idempotency.ts'

/** What the service does by itself, beside all requests and within none. */
export interface Upkeep {
  /** Does what there is to do now. */
  once(): Promise<void>
  /** Goes on doing it, now and then, until it is stopped. */
  start(): void
  /** Ends it, when the time that was seen last is kept. */
  stop(): Promise<void>
}

/** A process that is killed forgets at most so much of the time that it only told. */
const keepTimeEveryMs = 1000
const purgeEveryMs = 60_000
/** Bounds how long one deletion keeps others from writing; others are let in between two. */
const purgedAtOnce = 500
/** What is left of half a million waits for a minute. */
const mostPurges = 1000

export function createUpkeep({ store, log }: { store: Store; log: Logger }): Upkeep {
  let timer: ReturnType<typeof deadline> | undefined
  let running = Promise.resolve()
  let stopped = false
  let warned = false

  /** Once is enough: whoever reads it sets the clock right and starts anew. */
  const warnOnce = () => {
    const offMs = store.clock.machineOffMs
    if (warned || offMs === null) return
    warned = true
    log.warn({ offSeconds: Math.round(offMs / 1000), shared: store.clock.shared }, wrongClock(store))
  }

  const keepTime = async () => {
    const highestMs = store.clock.unsavedMs
    if (highestMs !== null) await store.transaction((tx) => keepHighest(tx, highestMs, store.clock.epoch))
    warnOnce()
  }

  const purge = async () => {
    for (let count = 0; count < mostPurges && !stopped; count++) {
      const purged = await store.transaction(async (tx) => {
        // One process at a time is enough.
        if (!(await tx.tryLock('upkeep'))) return 0
        return purgeAnswers(tx, await readTimes(tx), purgedAtOnce)
      })
      if (purged < purgedAtOnce) return
    }
  }

  /** A database that is busy now is asked again soon. */
  const unlessBusy = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      if (error instanceof StoreBusyError) log.debug({ err: error }, 'the upkeep waits for the database')
      else log.error({ err: error }, 'the upkeep failed')
    }
  }

  const tick = (sincePurgeMs: number) => {
    const due = sincePurgeMs >= purgeEveryMs
    running = unlessBusy(async () => {
      if (due) await purge()
      await keepTime()
    }).then(() => {
      if (!stopped)
        timer = deadline(keepTimeEveryMs, () => tick(due ? keepTimeEveryMs : sincePurgeMs + keepTimeEveryMs))
    })
  }

  return {
    once: async () => {
      await purge()
      await keepTime()
    },
    start: () => tick(purgeEveryMs),
    stop: async () => {
      stopped = true
      timer?.clear()
      await running
      await unlessBusy(keepTime)
    },
  }
}

function wrongClock({ clock }: Store): string {
  return clock.shared
    ? "this machine's clock is more than a minute off the database's, which counts: set it right"
    : "this machine's clock was set by more than a minute: time goes on as before until the process is started anew"
}
