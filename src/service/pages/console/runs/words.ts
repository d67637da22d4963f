import { foreignName, foreignText, shortened } from '../../../../core/foreign-text.ts'
import { timestamp } from '../../../../core/system.ts'
import { elapsed } from '../../../../display/times.ts'
import type { RunEntryKind, RunOutcome } from '../../../rules/runs.ts'
import { escaped, utcFormat } from '../../frame/texts.ts'
import type { EntryFilter } from './read-runs.ts'

/** The text, tone and mark of each outcome. The mark conveys the tone to people who cannot see the color. */
export const outcomeWords = {
  done: { text: 'Done', tone: 'good', mark: '✓' },
  declined: { text: 'Declined', tone: 'bad', mark: '✕' },
  review: { text: 'Needs approval', tone: 'open', mark: '…' },
  refused: { text: 'Refused', tone: 'bad', mark: '✕' },
  failed: { text: 'Failed', tone: 'bad', mark: '!' },
  unanswered: { text: 'No response', tone: 'bad', mark: '!' },
  replayed: { text: 'Replayed', tone: 'over', mark: '↺' },
  repeated: { text: 'Duplicate prevented', tone: 'open', mark: '↺' },
  asked: { text: 'Approval requested', tone: 'open', mark: '?' },
  agreed: { text: 'Approved', tone: 'good', mark: '✓' },
  disagreed: { text: 'Denied', tone: 'bad', mark: '✕' },
  happened: { text: 'Automatic', tone: 'over', mark: '◷' },
} as const satisfies Record<RunOutcome, { text: string; tone: string; mark: string }>

export const kindWords = {
  call: 'Call',
  question: 'Approval request',
  decision: 'Decision',
  happened: 'Automatic',
} as const satisfies Record<RunEntryKind, string>

/**
 * The text, tone and mark of a call that took effect, but whose answer was withheld by a fault. The keys are the kinds
 * of faults.
 */
const lostAnswerWords: Readonly<Record<string, { text: string; tone: string; mark: string }>> = {
  effect_then_lost: { text: 'Done, answer lost (fault)', tone: 'bad', mark: '!' },
  effect_then_503: { text: 'Done, answered 503 (fault)', tone: 'bad', mark: '!' },
}

/** Returns the text, tone and mark of an entry's state. */
export const stateOf = ({ outcome, fault }: { outcome: RunOutcome; fault: string | null }) =>
  (fault !== null && (outcome === 'unanswered' || outcome === 'failed') ? lostAnswerWords[fault] : undefined) ??
  outcomeWords[outcome]

/** Returns a run's name in a form that is safe to show. */
export const runName = (instanceId: string | null) =>
  instanceId === null ? 'Calls without an instance id' : foreignName(instanceId, 'A run without a readable name', 80)

const clock = {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
} as const
const clockOfThisYear = utcFormat(clock)
const clockOfOtherYear = utcFormat({ ...clock, year: 'numeric' })

/**
 * Formats a time on the service's clock, such as `Nov 23, 01:06:28.159`. Includes the year if it is not the current
 * year.
 */
export function clockText(ms: number, nowMs: number): string {
  const isOtherYear = timestamp(ms).slice(0, 4) !== timestamp(nowMs).slice(0, 4)
  return isOtherYear ? clockOfOtherYear(ms) : clockOfThisYear(ms)
}

/** Describes how long ago something happened, in the largest suitable unit, such as `2 min ago`. */
export function agoText(ms: number): string {
  const [largest] = elapsed(ms).split(/(?<=[a-z]) /)
  return ms < 1000 ? 'just now' : `${largest} ago`
}

/** Escapes the invisible characters of a string. If the string is JSON, also indents it. */
export function readableJson(text: string): string {
  return escaped(indented(text))
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** Shortens a sentence that may contain untrusted text, and makes it safe to show. */
export const sentence = (text: string) => shortened(foreignText(text), 2000)

/** Formats a time as the value of a time field, without fractions of a second. */
export const timeFieldValue = (ms: number | undefined) => (ms === undefined ? undefined : timestamp(ms).slice(0, 19))

/** The parameters in a timeline's address. */
export interface TimelineAddress extends EntryFilter {
  order?: 'oldest' | undefined
  before?: string | undefined
  after?: string | undefined
  fragment?: string | undefined
}

/** Returns the address of the filtered list of runs. */
export function runsAddress({ fromMs, untilMs, ...others }: RunsAddress): string {
  return addressOf('/console', { ...others, from: timeFieldValue(fromMs), until: timeFieldValue(untilMs) })
}

interface RunsAddress {
  agent?: string | undefined
  host?: string | undefined
  fromMs?: number | undefined
  untilMs?: number | undefined
  before?: string | undefined
  fragment?: string | undefined
}

export function timelineAddress(runId: string, selection: TimelineAddress = {}): string {
  const { agentId: agent, operation: tool, outcome, fromMs, untilMs, order, before, after, fragment } = selection
  const times = { from: timeFieldValue(fromMs), until: timeFieldValue(untilMs) }
  return addressOf(`/console/runs/${runId}`, { agent, tool, outcome, ...times, order, before, after, fragment })
}

/** Returns the path with a query that contains only the defined values. */
export function addressOf(path: string, query: Record<string, string | undefined>): string {
  const parameters = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return parameters.length === 0 ? path : `${path}?${new URLSearchParams(parameters)}`
}
