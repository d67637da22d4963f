import type { CompiledQuery } from 'kysely'
import type { DeferredItems } from './deferred-items.ts'

/**
 * A statement that waits to be sent, or the position of a savepoint. The savepoint is created only if a statement
 * follows.
 */
type Pending = { query: CompiledQuery; rowLabel: string | undefined } | Level

interface Level {
  savepoint: string
}

/** The connection that pending statements are sent on. */
interface Receiver {
  write(query: CompiledQuery, rowLabel: string | undefined): void
  create(savepoint: string): void
  rollbackTo(savepoint: string): void | Promise<void>
}

/**
 * The writes of one job that have not been sent yet. They are sent together when the job ends or reads again. A job
 * that reads first and is then refused has sent nothing that must be undone.
 */
export class PendingWrites {
  readonly #receiver: Receiver
  readonly #endings: DeferredItems
  #pending: Pending[] = []
  #depth = 0

  constructor(receiver: Receiver, endings: DeferredItems) {
    this.#receiver = receiver
    this.#endings = endings
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

  /** Sends all writes and creates all savepoints. This must precede a statement that writes immediately. */
  sendAll(): void {
    this.#send(this.#pending.length)
  }

  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    this.#depth += 1
    const { count } = this.#endings
    const level: Level = { savepoint: `level_${this.#depth}` }
    this.#pending.push(level)
    try {
      const result = await work()
      // Nothing will roll back to this savepoint any more, so it need not be created if that has not happened yet.
      this.#pending = this.#pending.filter((one) => one !== level)
      return result
    } catch (error) {
      this.#endings.truncate(count)
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
