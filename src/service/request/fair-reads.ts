import { nextTurn } from '../../core/system.ts'
import { FairQueue } from '../store/engine/fair-queue.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'

/** Less than the number of connections that read from PostgreSQL, so that some stay free for other requests. */
const maxConcurrent = 2
const maxQueued = 20_000

/**
 * Runs the reads of long polls, a few at a time. One credential may have hundreds of long polls, so credentials take
 * turns. Reads of other requests are not queued.
 */
export class FairReads {
  readonly #queue = new FairQueue<() => void>()
  #running = 0

  /** Returns a store whose reads wait in the credential's queue. */
  of(store: Store, credential: string): Store {
    return { ...store, read: (work) => this.#run(credential, () => store.read(work)) }
  }

  async #run<T>(credential: string, read: () => Promise<T>): Promise<T> {
    if (this.#running < maxConcurrent) this.#running += 1
    else if (this.#queue.length < maxQueued) await new Promise<void>((begin) => this.#queue.push(credential, begin))
    else throw new StoreBusyError('Too many requests that wait are being read.')
    try {
      return await read()
    } finally {
      void this.#beginNext()
    }
  }

  async #beginNext(): Promise<void> {
    // Reading from SQLite never yields, so this lets in the requests that arrived meanwhile.
    await nextTurn()
    const begin = this.#queue.shift()
    if (begin === undefined) this.#running -= 1
    else begin()
  }
}
