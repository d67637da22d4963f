import { parseTimestamp } from '../core/system.ts'

const offsetPattern = /^([+-])(\d{1,6})([smhdw])$/
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const dayOrTimestampPattern = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?$/

/** Converts a timestamp, a day, or an offset from the clock such as `-3d` to milliseconds; NaN for other strings. */
export function momentMs(text: string, clockMs: number): number {
  const [, sign, count, unit] = offsetPattern.exec(text) ?? []
  if (unit !== undefined) return clockMs + Number(`${sign}${count}`) * unitMs[unit as keyof typeof unitMs]
  return dayOrTimestampPattern.test(text) ? parseTimestamp(text) : Number.NaN
}
