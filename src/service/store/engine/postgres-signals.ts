import pg from 'pg'
import type { Logger } from '../../../config/log.ts'
import { deadline, newSecret, type System } from '../../../core/system.ts'
import type { Signals } from './signals.ts'

const channel = 'payments_mcp'
/** The interval between heartbeats. A process that was silent for three of these intervals counts as gone. */
const heartbeatMs = 15_000
/** The minimum time between two sends. Topics that are passed to `send` in between are collected and sent together. */
const sendIntervalMs = 50
const reconnectMs = 2_000
/** The longest wait for a connection, or for the answer to a query. */
const answerMs = 5_000
/** The topic of a heartbeat. */
const heartbeat = 'here'

/**
 * Signals that use LISTEN and NOTIFY. They have a separate connection, which is reopened whenever it is lost. A process
 * that detects no other processes sends only heartbeats.
 */
export class PostgresSignals implements Signals {
  readonly #url: string
  readonly #system: System
  readonly #log: Logger
  readonly #id: string
  readonly #subscribers = new Map<string, Set<() => void>>()
  /** The time of the last notification from each of the other processes, by the id of the process. */
  readonly #lastHeardMs = new Map<string, number>()
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #client: pg.Client | undefined
  #pending = new Set<string>()
  #timer: ReturnType<typeof deadline> | undefined
  #sentAtMs = Number.NEGATIVE_INFINITY

  constructor({ url, system, log }: { url: string; system: System; log: Logger }) {
    this.#url = url
    this.#system = system
    this.#log = log
    this.#id = newSecret(system, 6)
    this.#running = this.#run()
  }

  send(topic: string): void {
    if (this.#client === undefined || !this.#hasOthers()) return
    this.#pending.add(topic)
    this.#timer ??= deadline(Math.max(0, this.#sentAtMs + sendIntervalMs - this.#system.elapsed()), () => this.#flush())
  }

  subscribe(topic: string, onSignal: () => void): () => void {
    const callbacks = this.#subscribers.get(topic) ?? new Set()
    this.#subscribers.set(topic, callbacks.add(onSignal))
    return () => {
      callbacks.delete(onSignal)
      if (callbacks.size === 0 && this.#subscribers.get(topic) === callbacks) this.#subscribers.delete(topic)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#timer?.clear()
    await this.#running
  }

  #hasOthers(): boolean {
    const sinceMs = this.#system.elapsed() - 3 * heartbeatMs
    for (const [id, heardAtMs] of this.#lastHeardMs) if (heardAtMs < sinceMs) this.#lastHeardMs.delete(id)
    return this.#lastHeardMs.size > 0
  }

  #flush(): void {
    this.#timer = undefined
    const topics = [...this.#pending]
    this.#pending = new Set()
    this.#sentAtMs = this.#system.elapsed()
    // Failures are ignored: a process that misses this signal finds the change when it next polls the tables, and the
    // next heartbeat detects a broken connection.
    if (this.#client !== undefined) this.#call(this.#client, topics).catch(() => {})
  }

  async #call(client: pg.Client, topics: readonly string[]): Promise<void> {
    const payloads = topics.map((topic) => `${this.#id} ${topic}`)
    await client.query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [channel, payloads])
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#listen(signal)
      } catch (error) {
        if (!signal.aborted)
          this.#log.debug({ err: error }, 'cannot receive signals from other processes; the tables are polled instead')
      }
      await this.#system.sleep(reconnectMs, signal).catch(() => {})
    }
  }

  /** Listens until this object is closed or the connection is lost, and then throws. */
  async #listen(signal: AbortSignal): Promise<void> {
    const client = new pg.Client({
      // Sends each query without waiting for the answers to earlier ones.
      pipeline: true,
      connectionString: this.#url,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
      keepAlive: true,
    })
    const lost = Promise.withResolvers<never>()
    lost.promise.catch(() => {})
    client.on('error', lost.reject)
    client.on('end', () => lost.reject(new Error('The connection ended.')))
    client.on('notification', ({ payload }) => this.#receive(client, payload ?? ''))
    try {
      await Promise.race([client.connect(), lost.promise])
      await client.query(`listen ${channel}`)
      this.#client = client
      for (;;) {
        await this.#call(client, [heartbeat])
        await Promise.race([this.#system.sleep(heartbeatMs, signal), lost.promise])
      }
    } finally {
      this.#client = undefined
      // Limits the wait if the server does not respond to the end of the session.
      const late = deadline(1_000, () => client.connection.stream.destroy())
      await client.end().catch(() => {})
      late.clear()
    }
  }

  #receive(client: pg.Client, payload: string): void {
    const [id = '', ...words] = payload.split(' ')
    if (id === this.#id) return
    const isNew = !this.#lastHeardMs.has(id)
    this.#lastHeardMs.set(id, this.#system.elapsed())
    if (isNew) this.#call(client, [heartbeat]).catch(() => {})
    for (const onSignal of this.#subscribers.get(words.join(' ')) ?? []) onSignal()
  }
}
