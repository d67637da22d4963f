import { createHash } from 'node:crypto'
import type { System } from '../../src/core/system.ts'

export interface FakeSystem extends System {
  /** Advances all clocks. */
  pass(ms: number): void
  /** Sets the machine's clock `ms` ahead of the true time. No time passes, and the database's clock stays correct. */
  setAhead(ms: number): void
  /** Suspends the machine: every clock advances except the monotonic one (`elapsed`). */
  suspend(ms: number): void
  /** The durations passed to `sleep`, in order. */
  readonly slept: readonly number[]
}

const usualNow = Date.UTC(2026, 0, 15, 12)
const usualSeed = 'seed'

/** The number of random blocks that each fake system has generated. Modified copies of a system are not in the map. */
const draws = new WeakMap<System, { hasUsualSeed: boolean; count: number }>()

/**
 * Returns the counter of random blocks if the system has the default seed and time and has not generated any block yet.
 * Otherwise returns undefined. Set the counter's `count` to skip blocks.
 */
export function untouchedDraws(system: System): { count: number } | undefined {
  const draw = draws.get(system)
  return draw?.hasUsualSeed && draw.count === 0 && system.now() === usualNow && system.databaseNow(0) === usualNow
    ? draw
    : undefined
}

/**
 * Creates a system with repeatable random bytes, and a clock that advances only through `pass`, `suspend` and `sleep`.
 * Sleeping takes no real time.
 */
export function fakeSystem({ now = usualNow, seed = usualSeed } = {}): FakeSystem {
  let nowMs = now
  let aheadMs = 0
  let suspendedMs = 0
  const draw = { hasUsualSeed: seed === usualSeed, count: 0 }
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

/**
 * Creates a fake system whose clocks all read `Date`, for tests of libraries that also read `Date`. The test sets the
 * time of `Date`.
 */
export function dateSystem(): FakeSystem {
  const now = () => Date.now()
  return { ...fakeSystem(), now, elapsed: now, uptime: now, databaseNow: now }
}
