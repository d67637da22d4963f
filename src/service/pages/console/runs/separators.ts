import { timestamp } from '../../../../core/system.ts'
import { utcFormat } from '../../frame/texts.ts'
import type { EntrySeen } from './read-runs.ts'

type Moment = Pick<EntrySeen, 'id' | 'kind' | 'atMs' | 'recordedAtMs'>

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
/** The smallest jump of the clock to show. A busy database delays the writing of entries by less than this. */
const jumpMs = 5 * minuteMs

/** Returns the text between two entries of a timeline, for a new day or a moved clock. */
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
 * Returns how much more time passed on the sandbox's clock than in reality since the last entry that a caller caused.
 * Entries of timed effects are skipped, because each has the time at which its effect was due.
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
