import { StoreBusyError } from './store.ts'

const maxWaiting = 10_000

/** Admits a limited number of callers at once; the others wait in line. */
export class Gate {
  #free: number
  readonly #line: { enter: () => void; refuse: (reason: unknown) => void }[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Takes a place without waiting. Returns false if none is free. */
  tryEnter(): boolean {
    if (this.#free === 0) return false
    this.#free -= 1
    return true
  }

  async enter(): Promise<void> {
    if (this.tryEnter()) return
    if (this.#line.length >= maxWaiting) throw new StoreBusyError('Too many transactions.')
    await new Promise<void>((enter, refuse) => this.#line.push({ enter, refuse }))
  }

  /** Frees a place, or passes it to the first in line. */
  leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free += 1
    else next.enter()
  }

  /** Rejects all waiting callers, because each of them would run into the same failure. */
  refuseLine(reason: unknown): void {
    for (const { refuse } of this.#line.splice(0)) refuse(reason)
  }
}
