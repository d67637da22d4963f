import { realSystem, type System, sha256 } from '../core/system.ts'

/** The clock and the randomness of one trial: time moves only by `move`, and random bytes come from a seed. */
export interface TrialSystem extends System {
  /** Moves its time forward. */
  move(byMs: number): void
}

/** Returns the seed of one trial, so that a repeated rehearsal has the same trials. */
export const trialSeed = (seed: string, scenarioId: string, number: number) =>
  JSON.stringify([seed, scenarioId, number])

interface TrialSystemOptions {
  /** The seed of all random bytes. */
  seed: string
  startsAtMs: number
  /** The longest sleep, in milliseconds of real time. */
  longestSleepMs: number
}

/**
 * Makes the system of one trial. Trials with the same seed and the same calls are equal, byte for byte. A sleep only
 * yields to other work for a bounded while and does not move the time. All clocks agree, so the machine's clock never
 * appears to have been changed.
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

/** Makes random bytes from hashes of the seed and a counter. */
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
