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

type Leave = () => void

/** Names, each of which one transaction of this process at a time may have. */
export class Lines {
  readonly #entries = new Map<string, { gate: Gate; users: number }>()

  /** Waits for those before; the function it resolves to lets the next one have the name. */
  async join(name: string): Promise<Leave> {
    const { gate, leave, forget } = this.#use(name)
    await gate.enter().catch((error) => {
      forget()
      throw error
    })
    return leave
  }

  /** Undefined, at once, when another transaction has the name. */
  tryJoin(name: string): Leave | undefined {
    const { gate, leave, forget } = this.#use(name)
    if (gate.tryEnter()) return leave
    forget()
    return undefined
  }

  #use(name: string) {
    const entry = this.#entries.get(name) ?? { gate: new Gate(1), users: 0 }
    this.#entries.set(name, entry)
    entry.users += 1
    const forget = () => {
      entry.users -= 1
      if (entry.users === 0) this.#entries.delete(name)
    }
    const leave = () => {
      entry.gate.leave()
      forget()
    }
    return { gate: entry.gate, leave, forget }
  }
}

/** Another transaction of this process has what this one wants: it is to be undone, and run again when its turn comes. */
export class NotMyTurnError extends Error {}

/** What one transaction has in its process, through all its attempts. */
export class Place {
  readonly #lines: Lines
  readonly #kept = new Map<string, Leave>()
  /** What it wants its turn of; undefined: it has not got it. */
  readonly #turns = new Map<string, Leave | undefined>()

  constructor(lines: Lines) {
    this.#lines = lines
  }

  /** Has the name until the transaction ends, also while it waits for its turn; false: another transaction has it. */
  keep(name: string): boolean {
    if (this.#kept.has(name)) return true
    const leave = this.#lines.tryJoin(name)
    if (leave !== undefined) this.#kept.set(name, leave)
    return leave !== undefined
  }

  /** @throws NotMyTurnError when another transaction has the name; `waitForTurns` then waits for it. */
  takeTurn(name: string): void {
    if (this.#turns.get(name) !== undefined) return
    const leave = this.#lines.tryJoin(name)
    this.#turns.set(name, leave)
    if (leave === undefined) throw new NotMyTurnError(`Another transaction has ${name}.`)
  }

  /** Makes `waitForTurns` wait for the name; false: it had it already. */
  want(name: string): boolean {
    if (this.#turns.get(name) !== undefined) return false
    this.#turns.set(name, undefined)
    return true
  }

  /** Waits for all in the order of their names: of those who do so none waits for one who waits for it. */
  async waitForTurns(): Promise<void> {
    if ([...this.#turns.values()].every((leave) => leave !== undefined)) return
    const names = [...this.#turns.keys()].sort()
    this.#leaveTurns()
    for (const name of names) this.#turns.set(name, undefined)
    for (const name of names) this.#turns.set(name, await this.#lines.join(name))
  }

  leave(): void {
    this.#leaveTurns()
    for (const leave of this.#kept.values()) leave()
    this.#kept.clear()
  }

  #leaveTurns(): void {
    for (const leave of this.#turns.values()) leave?.()
    this.#turns.clear()
  }
}
