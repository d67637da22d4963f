import type { CompiledQuery } from 'kysely'
import type { DeferredItems } from './deferred-items.ts'

/**
 * A write that waits to be sent, or a savepoint that has not been created yet. A savepoint is created only if a write
 * follows it.
 */
type Pending = { query: CompiledQuery; rowLabel: string | undefined } | Level

interface Level {
  savepoint: string
}

/** The connection that receives the pending writes and savepoints. */
interface Receiver {
  write(query: CompiledQuery, rowLabel: string | undefined): void
  create(savepoint: string): void
  rollbackTo(savepoint: string): void | Promise<void>
}

/**
 * The writes of one job (a requested transaction) that have not been sent yet. They are sent together when the job ends
 * or reads again. If the job fails before they are sent, the database has nothing to undo.
 */
export class PendingWrites {
  readonly #receiver: Receiver
  readonly #deferred: DeferredItems
  #pending: Pending[] = []
  #depth = 0

  constructor(receiver: Receiver, deferred: DeferredItems) {
    this.#receiver = receiver
    this.#deferred = deferred
  }

  get isEmpty(): boolean {
    return this.#endOfWrites() === 0
  }

  add(query: CompiledQuery, rowLabel: string | undefined): void {
    this.#pending.push({ query, rowLabel })
  }

  /** Sends all writes. A savepoint that no write follows is not created. */
  send(): void {
    this.#send(this.#endOfWrites())
  }

  /** Sends all writes and creates all savepoints. Must be called before a write that is sent without `add`. */
  sendAll(): void {
    this.#send(this.#pending.length)
  }

  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    this.#depth += 1
    const { count } = this.#deferred
    const level: Level = { savepoint: `level_${this.#depth}` }
    this.#pending.push(level)
    try {
      const result = await work()
      // Nothing can roll back to this savepoint anymore. If it has not been created yet, it is no longer needed.
      this.#pending = this.#pending.filter((one) => one !== level)
      return result
    } catch (error) {
      this.#deferred.truncate(count)
      const at = this.#pending.indexOf(level)
      if (at >= 0) this.#pending.length = at
      else {
        this.#pending = []
        await this.#receiver.rollbackTo(level.savepoint)
      }
      throw error
    } finally {
      this.#depth -= 1
    }
  }

  #endOfWrites(): number {
    return this.#pending.findLastIndex((one) => 'query' in one) + 1
  }

  #send(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      const one = this.#pending.shift()
      if (one === undefined) return
      if ('savepoint' in one) this.#receiver.create(one.savepoint)
      else this.#receiver.write(one.query, one.rowLabel)
    }
  }
}

/** Returns whether a query changes nothing and locks nothing. */
export function readsOnly({ query, sql }: CompiledQuery): boolean {
  return (
    query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select\b(?!.*\bfor update\b)/is.test(sql))
  )
}
