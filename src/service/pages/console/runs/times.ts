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
 * The moments between which entries are asked for, each a second of the sandbox's clock: all that happened in the last one
 * is between them. A time that is none narrows nothing.
 */
export function timeRange(from: string | undefined, until: string | undefined): TimeRange {
  const [fromMs, untilMs] = [secondAt(from), secondAt(until)]
  const problems = { from: problemOf(from, fromMs), until: problemOf(until, untilMs) }
  if (fromMs === undefined || untilMs === undefined || untilMs >= fromMs)
    return { range: { fromMs, untilMs: untilMs === undefined ? undefined : untilMs + 999 }, problems }
  return { range: { fromMs }, problems: { until: `Choose a time that is not before ${shown(fromMs)}.` } }
}

/** As the field of a form sends it, without the zone, which is UTC. */
const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/

function secondAt(text: string | undefined): number | undefined {
  if (text === undefined || !form.test(text)) return undefined
  const ms = parseTimestamp(`${text}Z`)
  // No day of a month that does not have it becomes one of the next.
  return Number.isNaN(ms) || !timestamp(ms).startsWith(text) ? undefined : ms
}

function problemOf(text: string | undefined, ms: number | undefined): string | undefined {
  if (text === undefined || ms !== undefined) return undefined
  return `“${shortForeignText(text, 40)}” is no time: write one like 2026-11-23T09:30 or choose it.`
}

const shown = (ms: number) => timestamp(ms).slice(0, 19).replace('T', ' ')
