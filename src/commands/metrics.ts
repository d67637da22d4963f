import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Observe } from '../service/request/request-metrics.ts'
import type { Store, StoreLoad } from '../service/store/engine/store.ts'
import { countFailedEffects } from '../service/store/failed-effects.ts'

export type Metrics = ReturnType<typeof createMetrics>

interface McpLoad {
  sessions: number
  streams: number
}

/**
 * The upper limits of the histogram's buckets. The lowest limits suit responses from memory; the highest suit responses
 * so slow that clients give up.
 */
const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * Creates the metrics of this process for Prometheus. No label contains an id, a key or an amount, and each label has
 * few values.
 */
export function createMetrics() {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register })
  const requests = new Histogram({
    name: 'payments_request_duration_seconds',
    help: 'Time to answer a request, by operation (mcp for requests from AI hosts) and HTTP status.',
    labelNames: ['operation', 'status'] as const,
    buckets: bucketsSeconds,
    registers,
  })
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name: `payments_${name}`,
      help,
      registers,
      async collect() {
        this.set(await read())
      },
    })
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name: `payments_${name}_total`,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  return {
    observe: ((operation, status, seconds) => requests.observe({ operation, status }, seconds)) satisfies Observe,
    /** Adds the metrics that show the load of the store and the load of the MCP endpoint. */
    watch: (store: Pick<Store, 'load' | 'read'>, mcp: () => McpLoad) => {
      gauge('mcp_sessions', 'MCP sessions that this process serves.', () => mcp().sessions)
      gauge('mcp_streams', 'Event streams that MCP hosts read from this process.', () => mcp().streams)
      gauge('failed_effects', 'Due effects that failed and wait for a retry, for all parties.', () =>
        store.read(countFailedEffects),
      )
      if (store.load === undefined) return
      const loadReader = (name: keyof StoreLoad) => () => store.load?.()[name] ?? 0
      gauge('store_waiting', 'Transactions that wait in the queue.', loadReader('waiting'))
      gauge('store_connections', 'Database connections that transactions are using.', loadReader('connections'))
      counter(
        'store_groups',
        'Database transactions. Several requests that arrive together can share one.',
        loadReader('groups'),
      )
      counter(
        'store_retries',
        'Transactions that ran again because of a conflict with another one.',
        loadReader('retries'),
      )
    },
    /** Returns a response with the current metrics in Prometheus's text format. */
    answer: async () =>
      new Response(await register.metrics(), {
        headers: { 'Content-Type': register.contentType, 'Cache-Control': 'no-store' },
      }),
  }
}
