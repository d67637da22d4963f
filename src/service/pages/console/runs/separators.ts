import { timestamp } from '../../../../core/system.ts'
import { utcFormat } from '../../frame/texts.ts'
import type { EntrySeen } from './read-runs.ts'

type Moment = Pick<EntrySeen, 'id' | 'kind' | 'atMs' | 'recordedAtMs'>

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
/**
 * The smallest move of the sandbox clock to show. An apparent smaller move may only be a delay, because a busy database
 * can record an entry late.
 */
const jumpMs = 5 * minuteMs

/**
 * Returns the text to show between an entry and the next one in the list: the new day, how far the clock was moved, or
 * both. Returns null if there is nothing to show.
 */
export function separatorText(entries: readonly Moment[], at: number): string | null {
  const [entry, next] = [entries[at], entries[at + 1]]
  if (entry === undefined || next === undefined) return null
  const day = dayText(next.atMs) === dayText(entry.atMs) ? [] : [dayText(next.atMs)]
  const movedMs =
    entry.id > next.id
      ? movedBefore(entry, entries.slice(at + 1))
      : movedBefore(next, entries.slice(0, at + 1).toReversed())
  const moved = movedMs < jumpMs ? [] : [`the clock was moved by ${spanText(movedMs)}`]
  return [...day, ...moved].join(' · ') || null
}

/**
 * Returns how far the sandbox clock was moved between an entry and the last earlier entry. Entries of due effects do
 * not count, because each states the time when its effect was due, not when the effect was applied.
 */
function movedBefore(entry: Moment, before: readonly Moment[]): number {
  const last = before.find(({ kind }) => kind !== 'happened')
  if (last === undefined || entry.kind === 'happened') return 0
  return entry.atMs - last.atMs - (entry.recordedAtMs - last.recordedAtMs)
}

const dayFormat = utcFormat({ month: 'short', day: 'numeric', weekday: 'short' })

const dayText = (ms: number) => `${dayFormat(ms)}, ${timestamp(ms).slice(0, 4)}`

function spanText(ms: number): string {
  const [unitMs, unit] =
    ms >= 2 * dayMs ? [dayMs, 'days'] : ms >= 2 * hourMs ? [hourMs, 'hours'] : ([minuteMs, 'minutes'] as const)
  return `${Math.round(ms / unitMs)} ${unit}`
}
