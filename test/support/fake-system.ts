import { createHash } from 'node:crypto'
import type { System } from '../../src/core/system.ts'

export interface FakeSystem extends System {
  /** Advances all clocks. */
  pass(ms: number): void
  /** Sets the machine's clock ahead without advancing time; the database's clock stays correct. */
  setAhead(ms: number): void
  /** Suspends the machine: time passes, except on its monotonic clock. */
  suspend(ms: number): void
  /** The durations passed to `sleep`, in order. */
  readonly slept: readonly number[]
}

const usualNow = Date.UTC(2026, 0, 15, 12)
const usualSeed = 'seed'

/** How many random blocks each system has generated. A system that was copied with changes is not in the map. */
const draws = new WeakMap<System, { usual: boolean; count: number }>()

/** Returns a system's count of random blocks if its time and seed are the defaults and it has generated none yet. */
export function untouchedDraws(system: System): { count: number } | undefined {
  const draw = draws.get(system)
  return draw?.usual && draw.count === 0 && system.now() === usualNow && system.databaseNow(0) === usualNow
    ? draw
    : undefined
}

/**
 * Creates a system whose clock moves only on request, whose sleeps take no real time, and whose randomness is
 * repeatable.
 */
export function fakeSystem({ now = usualNow, seed = usualSeed } = {}): FakeSystem {
  let nowMs = now
  let aheadMs = 0
  let suspendedMs = 0
  const draw = { usual: seed === usualSeed, count: 0 }
  const slept: number[] = []
  const system: FakeSystem = {
    slept,
    now: () => nowMs + aheadMs,
    elapsed: () => nowMs - suspendedMs,
    uptime: () => nowMs,
    databaseNow: () => nowMs,
    passwordCost: { blocks: 16, size: 8, lanes: 1 },
    pass: (ms) => {
      nowMs += ms
    },
    setAhead: (ms) => {
      aheadMs = ms
    },
    suspend: (ms) => {
      nowMs += ms
      suspendedMs += ms
    },
    randomBytes: (length) => {
      const blocks = Array.from({ length: Math.ceil(length / 32) }, () =>
        createHash('sha256')
          .update(`${seed} ${draw.count++}`)
          .digest(),
      )
      return Buffer.concat(blocks).subarray(0, length)
    },
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      slept.push(ms)
      nowMs += ms
    },
  }
  draws.set(system, draw)
  return system
}

/** Creates a fake system whose clocks all follow `Date`, for libraries that read it. The test sets `Date`. */
export function dateSystem(): FakeSystem {
  const now = () => Date.now()
  return { ...fakeSystem(), now, elapsed: now, uptime: now, databaseNow: now }
}
