/**
 * The interval between repeating dates, in UTC. Monthly dates fall on the same day of the month as the first date. If a
 * month is too short, its last day is used.
 */
export interface Interval {
  unit: 'week' | 'month'
  count: number
}

export const dayMs = 24 * 60 * 60 * 1000

/** Returns the start, in ms, of the UTC day that is `steps` intervals after the day of `anchorMs`. */
export function startOfDayAfter(anchorMs: number, interval: Interval, steps: number): number {
  const anchor = new Date(anchorMs)
  const [year, month, day] = [anchor.getUTCFullYear(), anchor.getUTCMonth(), anchor.getUTCDate()]
  if (interval.unit === 'week') return Date.UTC(year, month, day + 7 * interval.count * steps)
  const target = month + interval.count * steps
  // Day 0 of the following month is the last day of the target month.
  const lastDay = new Date(Date.UTC(year, target + 1, 0)).getUTCDate()
  return Date.UTC(year, target, Math.min(day, lastDay))
}

/** Returns the UTC date of a timestamp as `YYYY-MM-DD`. */
export function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Returns the starts, in ms, of the UTC day and UTC month of a timestamp. */
export function startOfDayAndMonth(ms: number): { dayStartMs: number; monthStartMs: number } {
  const date = new Date(ms)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return { dayStartMs: Date.UTC(year, month, day), monthStartMs: Date.UTC(year, month, 1) }
}

/** Returns the UTC month and day of a timestamp, both counted from 1, and its weekday, with Sunday as 0. */
export function dayOf(ms: number): { month: number; day: number; weekday: number } {
  const date = new Date(ms)
  return { month: date.getUTCMonth() + 1, day: date.getUTCDate(), weekday: date.getUTCDay() }
}
