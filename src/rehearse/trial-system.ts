import { realSystem, type System, sha256 } from '../core/system.ts'

/** The outside world of one trial: its time moves only when somebody moves it, and its randomness comes from a seed. */
export interface TrialSystem extends System {
  /** Moves its time forward. */
  move(byMs: number): void
}

interface TrialSystemOptions {
  /** Decides all random bytes. */
  seed: string
  startsAtMs: number
  /** No sleep takes longer, milliseconds of real time. */
  longestSleepMs: number
}

/**
 * Two trials with the same seed and the same calls are the same, byte for byte. Whoever sleeps only gives way to others,
 * for a while that is bounded; the time does not move by it. All clocks are one, so that none seems to have been set.
 */
export function trialSystem({ seed, startsAtMs, longestSleepMs }: TrialSystemOptions): TrialSystem {
  let nowMs = startsAtMs
  return {
    now: () => nowMs,
    randomBytes: seededBytes(seed),
    sleep: (ms, signal) => realSystem.sleep(Math.min(ms, longestSleepMs), signal),
    elapsed: () => nowMs - startsAtMs,
    uptime: () => nowMs - startsAtMs,
    databaseNow: (toldMs) => toldMs,
    passwordCost: realSystem.passwordCost,
    move: (byMs) => {
      nowMs += Math.max(0, byMs)
    },
  }
}

/** The blocks of a hash over the seed and a counter, one after the other. */
function seededBytes(seed: string): System['randomBytes'] {
  let [pool, blocks] = [Buffer.alloc(0), 0]
  return (length) => {
    while (pool.length < length) {
      blocks += 1
      pool = Buffer.concat([pool, Buffer.from(sha256(`${seed} ${blocks}`), 'hex')])
    }
    const bytes = Buffer.from(pool.subarray(0, length))
    pool = pool.subarray(length)
    return bytes
  }
}
