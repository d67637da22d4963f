import type { System } from '../../../core/system.ts'

/** The time values that one query read from the database. */
export interface TimeReading {
  /** The time on the database server's clock; null for SQLite, which has no server. */
  databaseNowMs: number | null
  /** The latest real time that any process has stored in the database. */
  highestMs: number
  /** The epoch of the clock. A new epoch begins when the world of the sandbox is replaced. */
  epoch: number
}

/** Sandbox settings that are read together with the time. */
export interface SandboxSettings {
  /** How far the sandbox clock is ahead of real time. */
  offsetMs: number
  /** The number of fault rules of all kinds. */
  faultRules: number
  /** The number of fault rules of the kind `stale`. */
  staleRules: number
}

export interface RealTime {
  /** The current real time. It never goes back within an epoch. */
  realNowMs: number
  /**
   * The earliest of three times: `realNowMs`, the time of the machine's clock, and the time of the database server's
   * clock. It is used to calculate the age of records that must not be deleted too soon.
   */
  earliestMs: number
}

/** The largest difference at which two clocks are still considered to agree. */
export const toleranceMs = 60_000

interface LatestReading {
  epoch: number
  /**
   * Not rounded down to whole milliseconds. Otherwise, many readings within one millisecond would make the clock fall
   * behind.
   */
  realNowMs: number
  elapsedMs: number
  sleptMs: number
}

/**
 * A process's view of real time, which never goes back within an epoch. The time comes from the database server's clock
 * or, with SQLite, from the machine's clock. This time is compared with the machine's monotonic clocks, which nobody
 * can set. Jumps of more than `toleranceMs` are ignored. But a jump forward is accepted if the machine slept for that
 * long, or if the time comes from a database server.
 */
export class RealClock {
  /** Whether the time comes from a database server. */
  readonly shared: boolean
  sandbox: SandboxSettings = { offsetMs: 0, faultRules: 0, staleRules: 0 }
  readonly #system: System
  #latest: LatestReading | undefined
  #machineAheadMs = 0
  #highestMs = 0

  constructor(system: System, { shared }: { shared: boolean }) {
    this.#system = system
    this.shared = shared
  }

  /** Returns how far the machine's clock is ahead of the real time in use; null if the two agree. */
  get machineOffMs(): number | null {
    return Math.abs(this.#machineAheadMs) > toleranceMs ? this.#machineAheadMs : null
  }

  /**
   * Returns the latest real time that `read` returned; null if the database already contains that time or a later one.
   */
  get unsavedMs(): number | null {
    const seenMs = Math.floor(this.#latest?.realNowMs ?? 0)
    return seenMs > this.#highestMs ? seenMs : null
  }

  /**
   * Returns the latest real time that `read` returned; the machine's time before the first call of `read`. A
   * transaction that has called `read` stores this value as the time of its changes.
   */
  get lastMs(): number {
    return Math.floor(this.#latest?.realNowMs ?? this.#system.now())
  }

  /** Returns the epoch of the latest reading; 0 before the first reading. */
  get epoch(): number {
    return this.#latest?.epoch ?? 0
  }

  read({ databaseNowMs, highestMs, epoch }: TimeReading): RealTime {
    const machineMs = this.#system.now()
    const sourceMs = databaseNowMs === null ? machineMs : this.#system.databaseNow(databaseNowMs)
    const before = this.#latest?.epoch === epoch ? this.#latest : undefined
    const believedMs = before === undefined ? sourceMs : this.#trustedTime(sourceMs, before)
    const realNowMs = Math.max(believedMs, before?.realNowMs ?? 0, highestMs)
    this.#latest = {
      epoch,
      realNowMs,
      elapsedMs: this.#system.elapsed(),
      sleptMs: before?.sleptMs ?? this.#totalSleepMs(),
    }
    this.#machineAheadMs = machineMs - realNowMs
    this.#highestMs = highestMs
    const wholeMs = Math.floor(realNowMs)
    return { realNowMs: wholeMs, earliestMs: Math.min(machineMs, sourceMs, wholeMs) }
  }

  /** Returns `sourceMs` if it is accepted; otherwise the time calculated with the machine's monotonic clocks. */
  #trustedTime(sourceMs: number, before: LatestReading): number {
    const awakeMs = before.realNowMs + this.#system.elapsed() - before.elapsedMs
    if (Math.abs(sourceMs - awakeMs) <= toleranceMs) return sourceMs
    // All processes use the server's clock. A process that fell behind, for example while it was paused, must catch up.
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
