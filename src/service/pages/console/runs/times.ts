import { shortForeignText } from '../../../../core/foreign-text.ts'
import { parseTimestamp, timestamp } from '../../../../core/system.ts'

export interface TimeProblems {
  from?: string | undefined
  until?: string | undefined
}

export interface TimeRange {
  range: { fromMs?: number | undefined; untilMs?: number | undefined }
  problems: TimeProblems
}

/**
 * Parses the time range of a filter. The start and the end are whole seconds on the service's clock, and the range
 * includes the whole last second. If the start or end is invalid, returns a problem instead of a time.
 */
export function timeRange(from: string | undefined, until: string | undefined): TimeRange {
  const [fromMs, untilMs] = [secondAt(from), secondAt(until)]
  const problems = { from: problemOf(from, fromMs), until: problemOf(until, untilMs) }
  if (fromMs === undefined || untilMs === undefined || untilMs >= fromMs)
    return { range: { fromMs, untilMs: untilMs === undefined ? undefined : untilMs + 999 }, problems }
  return { range: { fromMs }, problems: { until: `Enter a time that is not before ${wholeSeconds(fromMs)}.` } }
}

/** The format of a time field's value. The value has no time zone and is read as UTC. */
const fieldFormat = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/

function secondAt(text: string | undefined): number | undefined {
  if (text === undefined || !fieldFormat.test(text)) return undefined
  const ms = parseTimestamp(`${text}Z`)
  // An impossible date such as February 30 is invalid. Without this check, it would become a day of the next month.
  return Number.isNaN(ms) || !timestamp(ms).startsWith(text) ? undefined : ms
}

function problemOf(text: string | undefined, ms: number | undefined): string | undefined {
  if (text === undefined || ms !== undefined) return undefined
  return `“${shortForeignText(text, 40)}” is not a time. Enter a time such as 2026-11-23T09:30.`
}

const wholeSeconds = (ms: number) => timestamp(ms).slice(0, 19).replace('T', ' ')
