import type { System } from '../../../core/system.ts'

/** The time values that one query returned. */
export interface TimeReading {
  /** The time of the database's own clock; null for a file, which has none. */
  databaseNowMs: number | null
  /** The latest real time that any process is known to have seen. */
  highestMs: number
  epoch: number
}

/** The sandbox settings that this process read together with the time. */
export interface SandboxSeen {
  /** How far the service's time is ahead of real time. */
  offsetMs: number
  /** The number of fault rules, and how many of them are of the kind `stale`. */
  faultRules: number
  staleRules: number
}

export interface RealTime {
  /** Real time, which only goes forward. */
  realNowMs: number
  /**
   * The earliest of the times that the available clocks show. It decides the age of records that must not be deleted
   * too soon.
   */
  earliestMs: number
}

/** If two clocks differ by less than this, both are considered right. */
export const toleranceMs = 60_000

interface Seen {
  epoch: number
  /** Not rounded, because rounding at many readings within one millisecond would lose time. */
  realNowMs: number
  elapsedMs: number
  sleptMs: number
}

/**
 * Real time as one process knows it. If the database is a server, all processes use its clock. For a file, the process
 * uses the machine's clock as long as that clock agrees with the machine's other clocks, which nobody can set. A jump
 * of the clock is ignored unless the machine slept for that long. Time never goes back.
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

  /** Returns how far the machine's clock is ahead of the valid time; null if the difference is within the tolerance. */
  get machineOffMs(): number | null {
    return Math.abs(this.#aheadMs) > toleranceMs ? this.#aheadMs : null
  }

  /**
   * Returns the latest time that `read` returned. Returns null if the database had already stored it at the last
   * reading.
   */
  get unsavedMs(): number | null {
    const seenMs = Math.floor(this.#seen?.realNowMs ?? 0)
    return seenMs > this.#highestMs ? seenMs : null
  }

  /**
   * Returns the latest time that `read` returned. A transaction that has read the time stores this value as the time of
   * its changes.
   */
  get lastMs(): number {
    return Math.floor(this.#seen?.realNowMs ?? this.#system.now())
  }

  /** Returns the epoch of `unsavedMs`. */
  get epoch(): number {
    return this.#seen?.epoch ?? 0
  }

  read({ databaseNowMs, highestMs, epoch }: TimeReading): RealTime {
    const machineMs = this.#system.now()
    const sourceMs = databaseNowMs === null ? machineMs : this.#system.databaseNow(databaseNowMs)
    const before = this.#seen?.epoch === epoch ? this.#seen : undefined
    const believedMs = before === undefined ? sourceMs : this.#trustedTime(sourceMs, before)
    const realNowMs = Math.max(believedMs, before?.realNowMs ?? 0, highestMs)
    this.#seen = {
      epoch,
      realNowMs,
      elapsedMs: this.#system.elapsed(),
      sleptMs: before?.sleptMs ?? this.#totalSleepMs(),
    }
    this.#aheadMs = machineMs - realNowMs
    this.#highestMs = highestMs
    const wholeMs = Math.floor(realNowMs)
    return { realNowMs: wholeMs, earliestMs: Math.min(machineMs, sourceMs, wholeMs) }
  }

  /** Returns a clock's time if it agrees with the other clocks; otherwise returns the time that these clocks show. */
  #trustedTime(sourceMs: number, before: Seen): number {
    const awakeMs = before.realNowMs + this.#system.elapsed() - before.elapsedMs
    if (Math.abs(sourceMs - awakeMs) <= toleranceMs) return sourceMs
    // All processes use the server's clock, so a process that was paused for a while may catch up.
    if (this.shared && sourceMs > awakeMs) return sourceMs
    const sleptMs = this.#totalSleepMs()
    const othersMs = awakeMs + Math.max(0, sleptMs - before.sleptMs)
    before.sleptMs = sleptMs
    return Math.abs(sourceMs - othersMs) <= toleranceMs ? sourceMs : othersMs
  }

  #totalSleepMs(): number {
    return this.#system.uptime() - this.#system.elapsed()
  }
}
