import { sha256 } from '../core/system.ts'

/** Pseudorandom numbers. The same seed always gives the same numbers. */
export interface Random {
  /** Returns an integer from `min` to `max`, both included. */
  int(min: number, max: number): number
  chance(percent: number): boolean
  pick<T>(list: readonly T[]): T
  /** Returns a random key of `weights`. The value of each key is its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K
}

/**
 * Creates a generator from a seed, because the bytes of `System.randomBytes` cannot be reproduced. The generator uses
 * the algorithm sfc32 by Chris Doty-Humphrey.
 */
export function randomFrom(seed: string): Random {
  const hash = Buffer.from(sha256(seed), 'hex')
  let [a, b, c, counter] = [hash.readInt32LE(0), hash.readInt32LE(4), hash.readInt32LE(8), 1]
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 0x1_0000_0000
  }
  const int = (min: number, max: number) => min + Math.floor(next() * (Math.max(min, max) - min + 1))
  return {
    int,
    chance: (percent) => next() * 100 < percent,
    pick: (list) => {
      const found = list[int(0, list.length - 1)]
      if (found === undefined) throw new Error('Bug: nothing to pick from.')
      return found
    },
    weighted: (weights) => {
      const entries = Object.entries<number>(weights).filter(([, weight]) => weight > 0)
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      const found = entries.find(([, weight]) => {
        left -= weight
        return left < 0
      })
      return (found ?? entries[0])?.[0] as keyof typeof weights
    },
  }
}
