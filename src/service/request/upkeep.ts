import type { Logger } from '../../config/log.ts'
import { deadline, type System } from '../../core/system.ts'
import { deleteAccessTokens, deleteGrantTokens } from '../store/access-tokens.ts'
import { deleteKnownBrowsers, deleteSessions, deleteSignInLinks } from '../store/browser-sessions.ts'
import { deleteCardPages, expiredPageKeptMs } from '../store/card-pages.ts'
import { readTimes, saveHighestTime, type Times } from '../store/clock.ts'
import { type Store, StoreBusyError, type Transaction } from '../store/engine/store.ts'
import { deleteEvents, eventKeptMs } from '../store/events.ts'
import { deleteObsoleteFailures } from '../store/failed-effects.ts'
import { deleteRecords, deleteUnusedClients, unusedClientKeptMs } from '../store/oauth-records.ts'
import { deleteRefusedPasswords, refusalCountsMs } from '../store/passwords.ts'
import { deletePendingDecisions, endedDecisionKeptMs } from '../store/pending-decisions.ts'
import { deleteRunMinutes } from '../store/run-minutes.ts'
import { deleteRunEntries, deleteRuns, runKeptMs } from '../store/runs.ts'
import { deleteSandboxMessages, messageKeptMs } from '../store/sandbox-messages.ts'
import { deleteSentCalls, sentCallKeptMs } from '../store/sent-calls.ts'
import { deleteDeliveries, deliveryKeptMs } from '../store/webhook-deliveries.ts'
import { settleDue } from './due-effects.ts'
import { purgeAnswers } from './idempotency.ts'
import type { LastUses } from './last-use.ts'
import { dueColumns } from './timed-effects.ts'

/** The background work of the service, outside all requests. */
export interface Upkeep {
  /** Does all pending work once. */
  once(): Promise<void>
  /** Repeats the work regularly until it is stopped. */
  start(): void
  /** Stops the work. Then stores when each key was last used, and stores the latest time of the clock. */
  stop(): Promise<void>
}

/**
 * The pause between two rounds of the work. Each round stores the clock's time, so the stored time is at most about
 * this old if the process is killed.
 */
const intervalMs = 1000
const deleteEveryMs = 60_000
/** The maximum number of rows in one deletion, so that no deletion blocks other writers for long. */
const deletedAtOnce = 500
/**
 * The maximum number of deletions of one kind of row in one round. Together they delete at most half a million rows.
 * The remaining rows are deleted a minute later.
 */
const maxBatches = 1000

/** The deletions of expired rows. Each deletes at most `limit` rows and returns how many it deleted. */
const deletions: readonly ((tx: Transaction, times: Times, limit: number) => Promise<number>)[] = [
  purgeAnswers,
  (tx, { nowMs }, limit) => deleteObsoleteFailures(tx, dueColumns, { nowMs, limit }),
  (tx, { nowMs }, limit) => deleteCardPages(tx, { byMs: nowMs - expiredPageKeptMs, limit }),
  (tx, { realNowMs }, limit) => deleteEvents(tx, { byMs: realNowMs - eventKeptMs, limit }),
  (tx, { realNowMs }, limit) => deleteDeliveries(tx, { byMs: realNowMs - deliveryKeptMs, limit }),
  (tx, { realNowMs }, limit) => deleteSandboxMessages(tx, { byMs: realNowMs - messageKeptMs, limit }),
  (tx, { realNowMs }, limit) => deleteRunEntries(tx, { byMs: realNowMs - runKeptMs, limit }),
  (tx, { realNowMs }, limit) => deleteRunMinutes(tx, { byMs: realNowMs - runKeptMs, limit }),
  (tx, { realNowMs }, limit) => deleteRuns(tx, { byMs: realNowMs - runKeptMs, limit }),
  (tx, { realNowMs: byMs }, limit) => deleteAccessTokens(tx, { byMs, limit }),
  (tx, { realNowMs: byMs }, limit) => deleteGrantTokens(tx, { byMs, limit }),
  (tx, { realNowMs: byMs }, limit) => deleteSessions(tx, { byMs, limit }),
  (tx, { realNowMs: byMs }, limit) => deleteSignInLinks(tx, { byMs, limit }),
  (tx, { realNowMs: byMs }, limit) => deleteKnownBrowsers(tx, { byMs, limit }),
  (tx, { realNowMs }, limit) => deletePendingDecisions(tx, { byMs: realNowMs - endedDecisionKeptMs, limit }),
  (tx, { realNowMs: byMs }, limit) => deleteRecords(tx, { byMs, limit }),
  (tx, { realNowMs }, limit) => deleteSentCalls(tx, { byMs: realNowMs - sentCallKeptMs, limit }),
  (tx, { realNowMs }, limit) => deleteRefusedPasswords(tx, { byMs: realNowMs - refusalCountsMs, limit }),
  (tx, { realNowMs }, limit) => deleteUnusedClients.Client(tx, { byMs: realNowMs - unusedClientKeptMs, limit }),
  (tx, { realNowMs }, limit) => deleteUnusedClients.ClientDocument(tx, { byMs: realNowMs - unusedClientKeptMs, limit }),
]

interface Dependencies {
  store: Store
  system: System
  lastUses: LastUses
  log: Logger
}

export function createUpkeep({ store, system, lastUses, log }: Dependencies): Upkeep {
  let timer: ReturnType<typeof deadline> | undefined
  let running = Promise.resolve()
  let stopped = false
  let warned = false

  /** Warns if the machine's clock is wrong, but only once per process. */
  const warnOnce = () => {
    const offMs = store.clock.machineOffMs
    if (warned || offMs === null) return
    warned = true
    log.warn({ offSeconds: Math.round(offMs / 1000), shared: store.clock.shared }, wrongClock(store))
  }

  const storeTime = async () => {
    const highestMs = store.clock.unsavedMs
    if (highestMs !== null) await store.transaction((tx) => saveHighestTime(tx, highestMs, store.clock.epoch))
    warnOnce()
  }

  const runDeletion = async (deletion: (typeof deletions)[number]) => {
    for (let count = 0; count < maxBatches && !stopped; count++) {
      const deleted = await store.transaction(async (tx) => {
        return deletion(tx, await readTimes(tx), deletedAtOnce)
      })
      if (deleted < deletedAtOnce) break
    }
  }
  const deleteExpired = deletions.map((deletion) => () => runDeletion(deletion))

  /** Applies due effects in the background, so that a request rarely has to apply many of them itself. */
  const settleAll = () => settleDue({ store, system, log }, { continues: () => !stopped })

  const steps = [() => lastUses.write(store), storeTime, settleAll]

  /** Runs `work`. Logs an error instead of throwing it, because the next round tries again. */
  const loggingErrors = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      if (error instanceof StoreBusyError) log.debug({ err: error }, 'the upkeep is waiting for the database')
      else log.error({ err: error }, 'the upkeep failed')
    }
  }

  const runAndRepeat = (sinceDeletionMs: number) => {
    const deletionIsDue = sinceDeletionMs >= deleteEveryMs
    // A failing step does not stop the other steps.
    const all = [...(deletionIsDue ? deleteExpired : []), ...steps].map((step) => () => loggingErrors(step))
    running = inOrder(all).then(() => {
      if (!stopped)
        timer = deadline(intervalMs, () => runAndRepeat(deletionIsDue ? intervalMs : sinceDeletionMs + intervalMs))
    })
  }

  return {
    once: () => inOrder([...deleteExpired, ...steps]),
    start: () => runAndRepeat(deleteEveryMs),
    stop: async () => {
      stopped = true
      timer?.clear()
      await running
      await loggingErrors(() => lastUses.write(store))
      await loggingErrors(storeTime)
    },
  }
}

async function inOrder(steps: readonly (() => Promise<void>)[]): Promise<void> {
  for (const step of steps) await step()
}

function wrongClock({ clock }: Store): string {
  return clock.shared
    ? "this machine's clock differs from the database's by more than a minute. The service uses the database's clock; correct this machine's clock"
    : "this machine's clock jumped by more than a minute; the service ignores the jump until its process is restarted"
}
