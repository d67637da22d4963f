import type { Context, Hono } from 'hono'
import type { Logger } from '../../config/log.ts'
import type { Environment } from '../../core/operation.ts'
import { deadline, type System } from '../../core/system.ts'
import { readTimes } from '../store/clock.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'
import { probeWrite } from '../store/write-probe.ts'
import type { Readiness } from './readiness.ts'

/** How long a good or a bad result of the write check is reused, so that frequent probes cause few writes. */
const goodForMs = 10_000
const badForMs = 1_000
/** If the database takes longer than this to answer, the process counts as unhealthy. */
const answerWithinMs = 5_000

interface Health {
  store: Store
  system: System
  environment: Environment
  readiness: Readiness
  log: Logger
}

/**
 * Mounts the health and readiness checks. A process is healthy if the database can be read now and was writable
 * recently. A process that is shutting down can still be healthy, but it is not ready.
 */
export function mountHealth(app: Hono, { store, system, environment, readiness, log }: Health): void {
  let probed: { untilMs: number; result: Promise<void> } | undefined
  const writable = () => {
    if (probed !== undefined && system.elapsed() < probed.untilMs) return probed.result
    const probe = { untilMs: Number.POSITIVE_INFINITY, result: probeWrite(store, system) }
    probed = probe
    const keepFor = (ms: number) => () => {
      probe.untilMs = system.elapsed() + ms
    }
    probe.result.then(keepFor(goodForMs), keepFor(badForMs))
    return probe.result
  }
  const answer = async (c: Context, status: string) => {
    try {
      await withDeadline(answerWithinMs, Promise.all([store.read(readTimes), writable()]))
      return c.json({ status, environment })
    } catch (error) {
      log.warn({ err: error }, 'the service is not healthy')
      return c.json({ status: 'unavailable', environment }, 503, { 'Retry-After': '1' })
    }
  }
  app.get('/healthz', (c) => answer(c, 'ok'))
  app.get('/readyz', async (c) =>
    readiness.ask() ? answer(c, 'ready') : c.json({ status: 'ending', environment }, 503, { 'Retry-After': '1' }),
  )
}

async function withDeadline(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = deadline(ms, () => late.reject(new StoreBusyError('The database does not answer.')))
  try {
    await Promise.race([work, late.promise])
  } finally {
    timer.clear()
  }
}
