import { StoreBusyError } from './store.ts'

const maxWaiting = 10_000

/** Lets only a limited number of callers in at the same time. The others wait in line. */
export class Gate {
  #free: number
  readonly #line: { enter: () => void; refuse: (reason: unknown) => void }[] = []

  constructor(capacity: number) {
    this.#free = capacity
  }

  /** Enters only if the caller does not have to wait. Returns whether the caller has entered. */
  tryEnter(): boolean {
    if (this.#free === 0) return false
    this.#free -= 1
    return true
  }

  async enter(): Promise<void> {
    if (this.tryEnter()) return
    if (this.#line.length >= maxWaiting) throw new StoreBusyError('Too many reads are waiting.')
    await new Promise<void>((enter, refuse) => this.#line.push({ enter, refuse }))
  }

  /** Leaves the gate, so that the first caller in line can enter. */
  leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free += 1
    else next.enter()
  }

  /** Rejects all waiting callers. Use this after a failure that would affect them too. */
  refuseLine(reason: unknown): void {
    for (const { refuse } of this.#line.splice(0)) refuse(reason)
  }
}
