import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'

/**
 * A fake system in which a call of `sleep` ends when the test has advanced the clock far enough, or when the signal
 * that the call got is aborted.
 */
export interface SleepingSystem extends FakeSystem {
  /** The number of calls of `sleep` that are still waiting. */
  readonly sleeping: number
  /** Resolves as soon as at least `count` calls of `sleep` are waiting. */
  sleepers(count: number): Promise<void>
}

export function sleepingSystem(): SleepingSystem {
  const system = fakeSystem()
  const asleep = new Set<{ untilMs: number; wake: () => void }>()
  const expected: { count: number; met: () => void }[] = []
  const resolveMet = () => {
    for (const one of expected.filter(({ count }) => asleep.size >= count)) {
      expected.splice(expected.indexOf(one), 1)
      one.met()
    }
  }
  return {
    ...system,
    get sleeping() {
      return asleep.size
    },
    sleepers: (count) =>
      new Promise((met) => {
        expected.push({ count, met })
        resolveMet()
      }),
    pass: (ms) => {
      system.pass(ms)
      for (const one of asleep) if (one.untilMs <= system.elapsed()) one.wake()
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted()
        // Code that waits for a lock sleeps briefly and tries again. Short sleeps end immediately, so the test need not
        // advance the clock for such code.
        if (ms < 1000) return void setImmediate(resolve)
        const one = {
          untilMs: system.elapsed() + ms,
          wake: () => {
            asleep.delete(one)
            resolve()
          },
        }
        asleep.add(one)
        signal?.addEventListener('abort', () => {
          if (asleep.delete(one)) reject(signal.reason)
        })
        resolveMet()
      }),
  }
}
