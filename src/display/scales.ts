import { money } from '../core/money.ts'
import { elapsed } from './times.ts'

/** A labeled position on an axis, as a fraction of the axis length. */
export interface Tick {
  share: number
  label: string
}

export interface Scale {
  shareOf(value: number): number
  ticks: Tick[]
}

/**
 * Returns a time scale that has positions only for the given moments. The gaps between them are scaled logarithmically,
 * because an agent acts within seconds, but a shop may respond days later.
 */
export function timeScale(moments: readonly number[]): Scale {
  const times = [...new Set(moments)].toSorted((one, other) => one - other)
  const began = times[0] ?? 0
  let total = 0
  const lengths = new Map(
    times.map((atMs, index) => {
      const wait = (atMs - (times[index - 1] ?? atMs)) / 1000
      total += Math.log2(1 + wait)
      return [atMs, total] as const
    }),
  )
  const shareOf = (atMs: number) => (total === 0 ? 0 : ((lengths.get(atMs) ?? 0) / total) * lastShare)
  return { shareOf, ticks: spacedTicks(times.map((atMs) => ({ share: shareOf(atMs), label: elapsed(atMs - began) }))) }
}

/** Returns a linear time scale with a label at each end. */
export function evenTimeScale(fromMs: number, toMs: number, labels: readonly [string, string]): Scale {
  // Extends an empty range to 1 ms, so that a single moment is drawn as a line over the whole width.
  const sinceMs = Math.min(fromMs, toMs - 1)
  const ticks = labels.map((label, share) => ({ share, label }))
  return { shareOf: (atMs) => (atMs - sinceMs) / (toMs - sinceMs), ticks }
}

/** The position of the last moment on a `timeScale`. To the right of it, the lines continue at their last values. */
const lastShare = 0.95

/** Returns the first and last ticks, and those ticks between them whose labels have room. */
function spacedTicks(ticks: readonly Tick[]): Tick[] {
  const [first, last] = [ticks[0], ticks.at(-1)]
  if (first === undefined || last === undefined || first === last) return first === undefined ? [] : [first]
  const spaced = [first]
  for (const tick of ticks.slice(1, -1)) {
    const before = spaced.at(-1)?.share ?? 0
    if (tick.share - before >= minGap && last.share - tick.share >= minGap) spaced.push(tick)
  }
  return [...spaced, last]
}

/** The share of the axis that a label needs on a phone. */
const minGap = 0.17

/**
 * Returns a scale with ticks at round amounts. If all amounts are close together, the scale starts somewhat below the
 * lowest amount. Otherwise it starts at 0, or at a negative value if there are negative amounts.
 */
export function amountScale(cents: readonly number[]): Scale {
  const [lowest, highest] = [Math.min(...cents), Math.max(1, ...cents)]
  const span = highest - lowest
  const lowerBound = span < lowest ? lowest - Math.max(span, lowest / 4) / 2 : Math.min(0, lowest)
  const step = roundStep((highest - lowerBound) / 3)
  const [from, to] = [Math.floor(lowerBound / step), Math.ceil(highest / step)]
  const shareOf = (value: number) => (value / step - from) / (to - from)
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => {
    const value = (from + index) * step
    return { share: shareOf(value), label: money(value).replace(/\.00$/, '') }
  })
  return { shareOf, ticks }
}

/** Rounds the distance between two ticks, in cents, up to the next 1, 2 or 5 times a power of ten. */
function roundStep(minStep: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, minStep)))
  return ([1, 2, 5].find((factor) => factor * power >= minStep) ?? 10) * power
}
