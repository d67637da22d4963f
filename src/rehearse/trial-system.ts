import { realSystem, type System, sha256 } from '../core/system.ts'

/** The clock and randomness of one trial: time moves only when `move` is called, and random bytes come from a seed. */
export interface TrialSystem extends System {
  /** Moves the time forward. */
  move(byMs: number): void
}

/**
 * Returns the seed of one trial, made from `seed`, the seed of the rehearsal. So if the rehearsal is repeated with the
 * same seed, each trial gets the same seed as before.
 */
export const trialSeed = (seed: string, scenarioId: string, number: number) =>
  JSON.stringify([seed, scenarioId, number])

interface TrialSystemOptions {
  /** The seed of all random bytes. */
  seed: string
  startsAtMs: number
  /** The longest duration of a call of `sleep`, in milliseconds by the real clock. */
  longestSleepMs: number
}

/**
 * Creates the system of one trial. Trials with the same seed and the same calls are identical, byte for byte. A call of
 * `sleep` lasts at most `longestSleepMs` by the real clock, and does not move the trial's time. All clocks of the
 * system move together, so the service never concludes that somebody has changed the machine's clock.
 */
export function trialSystem({ seed, startsAtMs, longestSleepMs }: TrialSystemOptions): TrialSystem {
  let nowMs = startsAtMs
  return {
    now: () => nowMs,
    randomBytes: seededBytes(seed),
    sleep: (ms, signal) => realSystem.sleep(Math.min(ms, longestSleepMs), signal),
    elapsed: () => nowMs - startsAtMs,
    uptime: () => nowMs - startsAtMs,
    databaseNow: (reportedMs) => reportedMs,
    passwordCost: realSystem.passwordCost,
    move: (byMs) => {
      nowMs += Math.max(0, byMs)
    },
  }
}

/** Returns a source of pseudorandom bytes, which are hashes of the seed and a counter. */
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
