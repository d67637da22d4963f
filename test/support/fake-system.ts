import { createHash } from 'node:crypto'
import type { System } from '../../src/system.ts'

export interface FakeSystem extends System {
  /** Moves the clock. */
  pass(ms: number): void
  /** How long somebody slept, in order. */
  readonly slept: readonly number[]
}

/** A clock that stands still until it is moved, sleeps that take none of its owner's time, and repeatable randomness. */
export function fakeSystem({ now = Date.UTC(2026, 0, 15, 12), seed = 'seed' } = {}): FakeSystem {
  let nowMs = now
  let count = 0
  const slept: number[] = []
  return {
    slept,
    now: () => nowMs,
    elapsed: () => nowMs,
    pass: (ms) => {
      nowMs += ms
    },
    randomBytes: (length) => {
      const blocks = Array.from({ length: Math.ceil(length / 32) }, () =>
        createHash('sha256').update(`${seed} ${count++}`).digest(),
      )
      return Buffer.concat(blocks).subarray(0, length)
    },
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      slept.push(ms)
      nowMs += ms
    },
  }
}
