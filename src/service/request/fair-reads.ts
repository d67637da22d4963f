import { nextTurn } from '../../core/system.ts'
import { FairQueue } from '../store/engine/fair-queue.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'

/**
 * The maximum number of long polls' reads at a time. A PostgreSQL store has more connections for reads, so some stay
 * free for other requests.
 */
const maxConcurrent = 2
const maxQueued = 20_000

/**
 * Runs the reads of long polls (requests with `waitSeconds`), a few at a time. One credential may have many long polls,
 * so the credentials take turns. The reads of other requests are not queued.
 */
export class FairReads {
  readonly #queue = new FairQueue<() => void>()
  #running = 0

  /** Returns a store whose reads wait in the credential's queue. */
  storeFor(store: Store, credential: string): Store {
    return { ...store, read: (work) => this.#run(credential, () => store.read(work)) }
  }

  async #run<T>(credential: string, read: () => Promise<T>): Promise<T> {
    if (this.#running < maxConcurrent) this.#running += 1
    else if (this.#queue.length < maxQueued) await new Promise<void>((begin) => this.#queue.push(credential, begin))
    else throw new StoreBusyError('Too many long polls are waiting to read.')
    try {
      return await read()
    } finally {
      void this.#beginNext()
    }
  }

  async #beginNext(): Promise<void> {
    // A read from SQLite blocks the event loop, so requests that arrived during the read are handled before the next
    // read.
    await nextTurn()
    const begin = this.#queue.shift()
    if (begin === undefined) this.#running -= 1
    else begin()
  }
}
