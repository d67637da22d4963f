import { parseTimestamp } from '../core/system.ts'

const distance = /^([+-])(\d{1,6})([smhdw])$/
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const dayOrTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?$/

/** Converts a time, a day or a distance from the world's clock to milliseconds. Returns NaN for other texts. */
export function momentMs(text: string, clockMs: number): number {
  const [, sign, count, unit] = distance.exec(text) ?? []
  if (unit !== undefined) return clockMs + Number(`${sign}${count}`) * unitMs[unit as keyof typeof unitMs]
  return dayOrTime.test(text) ? parseTimestamp(text) : Number.NaN
}
