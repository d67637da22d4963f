import type { System } from '../../../core/system.ts'

/** What one query told of time. */
export interface TimeReading {
  /** What the database's own clock says; null for a file, which has none. */
  databaseNowMs: number | null
  /** The latest real time that is known to have been seen, by whichever process. */
  highestMs: number
  epoch: number
}

/** The settings of a sandbox that the last reading of the time told this process. */
export interface SandboxSeen {
  /** How far the service's time is ahead of real time. */
  offsetMs: number
  /** How many rules there are by which requests fail on purpose, and how many of them are of the kind `stale`. */
  faultRules: number
  staleRules: number
}

export interface RealTime {
  /** Real time, which only goes forward. */
  realNowMs: number
  /** The earliest of what the clocks at hand say. What must not be forgotten too soon is measured by it. */
  earliestMs: number
}

/** Clocks that differ by less are both taken for right. */
export const toleranceMs = 60_000

interface Seen {
  epoch: number
  /** With its fractions: many readings in one millisecond must not lose it. */
  realNowMs: number
  elapsedMs: number
  sleptMs: number
}

/**
 * Real time as one process knows it. Where the database is a server, its clock counts for every process alike. A file has
 * no clock, so there the machine's counts, but only as long as it goes like the machine's other clocks, which nobody
 * sets: one that jumps is not followed, unless the machine slept for as long. Time that was seen never comes again.
 */
export class RealClock {
  /** Whether time comes from the database. */
  readonly shared: boolean
  sandbox: SandboxSeen = { offsetMs: 0, faultRules: 0, staleRules: 0 }
  readonly #system: System
  #seen: Seen | undefined
  #aheadMs = 0
  #highestMs = 0

  constructor(system: System, { shared }: { shared: boolean }) {
    this.#system = system
    this.shared = shared
  }

  /** How far the machine's clock is ahead of the time that counts, when it is further off than is tolerated; or null. */
  get machineOffMs(): number | null {
    return Math.abs(this.#aheadMs) > toleranceMs ? this.#aheadMs : null
  }

  /** The latest time that was told here and that the database, when it was last asked, did not know; or null. */
  get unsavedMs(): number | null {
    const seenMs = Math.floor(this.#seen?.realNowMs ?? 0)
    return seenMs > this.#highestMs ? seenMs : null
  }

  /** The latest time that was told here: what a transaction writes as the moment that it had asked for. */
  get lastMs(): number {
    return Math.floor(this.#seen?.realNowMs ?? this.#system.now())
  }

  /** In which `unsavedMs` was seen. */
  get epoch(): number {
    return this.#seen?.epoch ?? 0
  }

  read({ databaseNowMs, highestMs, epoch }: TimeReading): RealTime {
    const machineMs = this.#system.now()
    const sourceMs = databaseNowMs === null ? machineMs : this.#system.databaseNow(databaseNowMs)
    const before = this.#seen?.epoch === epoch ? this.#seen : undefined
    const believedMs = before === undefined ? sourceMs : this.#believed(sourceMs, before)
    const realNowMs = Math.max(believedMs, before?.realNowMs ?? 0, highestMs)
    this.#seen = { epoch, realNowMs, elapsedMs: this.#system.elapsed(), sleptMs: before?.sleptMs ?? this.#slept() }
    this.#aheadMs = machineMs - realNowMs
    this.#highestMs = highestMs
    const wholeMs = Math.floor(realNowMs)
    return { realNowMs: wholeMs, earliestMs: Math.min(machineMs, sourceMs, wholeMs) }
  }

  /** The time of a clock that goes like the others; otherwise what time it is by the others. */
  #believed(sourceMs: number, before: Seen): number {
    const awakeMs = before.realNowMs + this.#system.elapsed() - before.elapsedMs
    if (Math.abs(sourceMs - awakeMs) <= toleranceMs) return sourceMs
    // A server's clock is every process's: one that was stopped for a while takes it up again.
    if (this.shared && sourceMs > awakeMs) return sourceMs
    const sleptMs = this.#slept()
    const othersMs = awakeMs + Math.max(0, sleptMs - before.sleptMs)
    before.sleptMs = sleptMs
    return Math.abs(sourceMs - othersMs) <= toleranceMs ? sourceMs : othersMs
  }

  #slept(): number {
    return this.#system.uptime() - this.#system.elapsed()
  }
}
