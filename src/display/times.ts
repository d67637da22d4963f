import { timestamp } from '../core/system.ts'

/** Splits a time into its date and its time of day, in UTC. */
export function dayAndTime(atMs: number): { day: string; time: string } {
  const [day = '', time = ''] = timestamp(atMs).split('T')
  return { day, time: time.slice(0, 8) }
}

/** Formats a duration with at most two units, such as `2 d 3 h`. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const
  const from = parts.findIndex(([count]) => count > 0)
  if (from === -1) return '0 s'
  return parts
    .slice(from, from + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}
