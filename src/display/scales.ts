import { money } from '../core/money.ts'
import { elapsed } from './moments.ts'

/** A labelled place of an axis, as a share of its length. */
export interface Tick {
  share: number
  label: string
}

export interface Scale {
  shareOf(value: number): number
  ticks: Tick[]
}

/**
 * The sandbox's time. An agent acts within seconds, and what a shop does comes days later: each wait is drawn by the
 * logarithm of its length, so that both can be seen. The moments are the only ones that have a place.
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
  return { shareOf, ticks: apart(times.map((atMs) => ({ share: shareOf(atMs), label: elapsed(atMs - began) }))) }
}

/** Time from one moment to another as a clock measures it, with a label for each end. */
export function evenTimeScale(fromMs: number, toMs: number, labels: readonly [string, string]): Scale {
  // A single moment becomes a line over the whole width.
  const sinceMs = Math.min(fromMs, toMs - 1)
  const ticks = labels.map((label, share) => ({ share, label }))
  return { shareOf: (atMs) => (atMs - sinceMs) / (toMs - sinceMs), ticks }
}

/** What came of the last change is seen right of it. */
const lastShare = 0.95

/** The first tick, the last one, and those between that have room for their labels. */
function apart(ticks: readonly Tick[]): Tick[] {
  const [first, last] = [ticks[0], ticks.at(-1)]
  if (first === undefined || last === undefined || first === last) return first === undefined ? [] : [first]
  const kept = [first]
  for (const tick of ticks.slice(1, -1)) {
    const before = kept.at(-1)?.share ?? 0
    if (tick.share - before >= leastBetween && last.share - tick.share >= leastBetween) kept.push(tick)
  }
  return [...kept, last]
}

/** Share of the width that a label takes on a phone. */
const leastBetween = 0.17

/** Amounts with some round ones between: from 0 (or less), or from near the least where they hardly differ. */
export function valueTicks(cents: readonly number[]): Scale {
  const [lowest, highest] = [Math.min(...cents), Math.max(1, ...cents)]
  const span = highest - lowest
  const least = span < lowest ? lowest - Math.max(span, lowest / 4) / 2 : Math.min(0, lowest)
  const step = roundStep((highest - least) / 3)
  const [from, to] = [Math.floor(least / step), Math.ceil(highest / step)]
  const shareOf = (value: number) => (value / step - from) / (to - from)
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => {
    const value = (from + index) * step
    return { share: shareOf(value), label: money(value).replace(/\.00$/, '') }
  })
  return { shareOf, ticks }
}

/** At least so many cents: 1, 2 or 5 with zeros. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)))
  return ([1, 2, 5].find((factor) => factor * power >= least) ?? 10) * power
}
