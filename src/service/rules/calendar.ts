/** Days are UTC. Months keep the anchor's day, or take their last one where they are shorter. */
export interface Interval {
  unit: 'week' | 'month'
  count: number
}

export const dayMs = 24 * 60 * 60 * 1000

/** The start, in ms, of the UTC day that is `steps` intervals after the day of `anchorMs`. */
export function startOfDayAfter(anchorMs: number, interval: Interval, steps: number): number {
  const anchor = new Date(anchorMs)
  const [year, month, day] = [anchor.getUTCFullYear(), anchor.getUTCMonth(), anchor.getUTCDate()]
  if (interval.unit === 'week') return Date.UTC(year, month, day + 7 * interval.count * steps)
  const target = month + interval.count * steps
  // Day 0 is the day before the first: of the month after, the target month's last.
  const lastDay = new Date(Date.UTC(year, target + 1, 0)).getUTCDate()
  return Date.UTC(year, target, Math.min(day, lastDay))
}

/** `YYYY-MM-DD` of an instant. */
export function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** The start, in ms, of the UTC day and of the UTC month that an instant is in. */
export function startOfDayAndMonth(ms: number): { dayStartMs: number; monthStartMs: number } {
  const date = new Date(ms)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return { dayStartMs: Date.UTC(year, month, day), monthStartMs: Date.UTC(year, month, 1) }
}

/** The UTC day of an instant: month and day as people count them, and the weekday, of which Sunday is 0. */
export function dayOf(ms: number): { month: number; day: number; weekday: number } {
  const date = new Date(ms)
  return { month: date.getUTCMonth() + 1, day: date.getUTCDate(), weekday: date.getUTCDay() }
}
