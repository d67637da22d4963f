import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Intent, Journal, perform } from '../ledger/journal.ts'
import { idleMachineMs } from '../support/slowdown.ts'

/** The time within which every request must be answered, whatever happens to the database. */
export const answerWithinMs = 10_000

/** Clients that continuously buy and refund. Each repeats a request with the same idempotency key until it gets 200. */
export class Clients {
  readonly journal: Journal
  /** The number of attempts that the service refused with 503. */
  refused = 0
  slowestMs = 0
  readonly #url: string
  readonly #work: Promise<void>[]
  #isStopping = false

  constructor(name: string, url: string, count = 16) {
    this.#url = url
    this.journal = new Journal(name, (intent) => this.#sendUntilOk(intent))
    this.#work = Array.from({ length: count }, () => this.#buyRepeatedly())
    // Prevents unhandled rejections. `stop` throws the first error.
    for (const work of this.#work) work.catch(() => {})
  }

  /** Resolves once `count` more requests have been acknowledged. */
  async acknowledge(count: number): Promise<void> {
    const target = this.journal.acknowledged + count
    const failed = Promise.all(this.#work)
    while (this.journal.acknowledged < target) await Promise.race([failed, sleep(10)])
  }

  /** Stops each client after its current purchase. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#work)
  }

  async #buyRepeatedly(): Promise<void> {
    while (!this.#isStopping) await this.journal.buy()
  }

  async #sendUntilOk(intent: Intent): Promise<string> {
    for (;;) {
      const startMs = performance.now()
      const response = await perform(this.#url, intent)
      const text = await response.text()
      this.slowestMs = Math.max(this.slowestMs, idleMachineMs(performance.now() - startMs, answerWithinMs))
      if (response.status === 200) return text
      expectAdvice(response.status, text)
      if (response.status === 503) this.refused += 1
      await sleep(20)
    }
  }
}

/** Expects a refusal that advises a retry: the database is unavailable, or the first attempt is still running. */
function expectAdvice(status: number, text: string): void {
  if (status === 503) expect(text).toContain('"service_unavailable"')
  else expect([status, text]).toEqual([409, expect.stringContaining('is still running. Repeat it in a moment.')])
}
