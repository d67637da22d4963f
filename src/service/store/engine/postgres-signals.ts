import pg from 'pg'
import type { Logger } from '../../../config/log.ts'
import { deadline, newSecret, type System } from '../../../core/system.ts'
import type { Signals } from './signals.ts'

const channel = 'payments_mcp'
/** The interval of heartbeats. A process that has been silent for three times this interval counts as gone. */
const presenceMs = 15_000
/** How long topics are collected for one notification. This limits how many notifications a busy process sends. */
const gatherMs = 50
const reconnectMs = 2_000
/** The longest wait for an answer. */
const answerMs = 5_000
/** The topic of a heartbeat. */
const heartbeat = 'here'

/**
 * Signals through LISTEN and NOTIFY on a separate connection, which is reopened whenever it is lost. A process that
 * detects no other processes sends only a heartbeat.
 */
export class PostgresSignals implements Signals {
  readonly #url: string
  readonly #system: System
  readonly #log: Logger
  readonly #id: string
  readonly #subscribers = new Map<string, Set<() => void>>()
  /** When each other process was last heard from. */
  readonly #others = new Map<string, number>()
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
    this.#timer ??= deadline(Math.max(0, this.#sentAtMs + gatherMs - this.#system.elapsed()), () => this.#flush())
  }

  subscribe(topic: string, onSignal: () => void): () => void {
    const those = this.#subscribers.get(topic) ?? new Set()
    this.#subscribers.set(topic, those.add(onSignal))
    return () => {
      those.delete(onSignal)
      if (those.size === 0 && this.#subscribers.get(topic) === those) this.#subscribers.delete(topic)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#timer?.clear()
    await this.#running
  }

  #hasOthers(): boolean {
    const sinceMs = this.#system.elapsed() - 3 * presenceMs
    for (const [id, heardAtMs] of this.#others) if (heardAtMs < sinceMs) this.#others.delete(id)
    return this.#others.size > 0
  }

  #flush(): void {
    this.#timer = undefined
    const topics = [...this.#pending]
    this.#pending = new Set()
    this.#sentAtMs = this.#system.elapsed()
    // A failure is ignored: processes that miss this signal find the change in the tables, and the next heartbeat
    // detects a broken connection.
    if (this.#client !== undefined) this.#call(this.#client, topics).catch(() => {})
  }

  async #call(client: pg.Client, topics: readonly string[]): Promise<void> {
    const texts = topics.map((topic) => `${this.#id} ${topic}`)
    await client.query('select pg_notify($1, text) from unnest($2::text[]) as text', [channel, texts])
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#listen(signal)
      } catch (error) {
        if (!signal.aborted)
          this.#log.debug({ err: error }, 'no signals from other processes; the tables are polled instead')
      }
      await this.#system.sleep(reconnectMs, signal).catch(() => {})
    }
  }

  /** Listens until this object is closed. Throws if the connection is lost. */
  async #listen(signal: AbortSignal): Promise<void> {
    const client = new pg.Client({
      // Several notifications may be in flight.
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
        await Promise.race([this.#system.sleep(presenceMs, signal), lost.promise])
      }
    } finally {
      this.#client = undefined
      // Limits the wait for a server that does not answer the close.
      const late = deadline(1_000, () => client.connection.stream.destroy())
      await client.end().catch(() => {})
      late.clear()
    }
  }

  #receive(client: pg.Client, payload: string): void {
    const [id = '', ...words] = payload.split(' ')
    if (id === this.#id) return
    const isNew = !this.#others.has(id)
    this.#others.set(id, this.#system.elapsed())
    if (isNew) this.#call(client, [heartbeat]).catch(() => {})
    for (const onSignal of this.#subscribers.get(words.join(' ')) ?? []) onSignal()
  }
}
