import { StoreBusyError } from './store.ts'

const mostWaiting = 10_000

/** Lets so many in at once; everybody else waits in line. */
export class Gate {
  #free: number
  readonly #line: { enter: () => void; refuse: (reason: unknown) => void }[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** False, at once, when there is no free place. */
  tryEnter(): boolean {
    if (this.#free === 0) return false
    this.#free -= 1
    return true
  }

  async enter(): Promise<void> {
    if (this.tryEnter()) return
    if (this.#line.length >= mostWaiting) throw new StoreBusyError('Too many transactions wait.')
    await new Promise<void>((enter, refuse) => this.#line.push({ enter, refuse }))
  }

  /** The place goes to the first in line. */
  leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free += 1
    else next.enter()
  }

  /** Sends away everybody who waits, where none of them would fare better. */
  refuseLine(reason: unknown): void {
    for (const { refuse } of this.#line.splice(0)) refuse(reason)
  }
}
