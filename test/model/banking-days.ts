import { dayMs } from './state.ts'

const hourMs = 60 * 60 * 1000

/** Returns 14:00 UTC of the day that is this many banking days after the given time. */
export function clearedAtMs(ms: number, bankingDays: number): number {
  let dayStartMs = ms - (ms % dayMs)
  for (let passed = 0; passed < bankingDays; ) {
    dayStartMs += dayMs
    if (isBankingDay(dayStartMs)) passed++
  }
  return dayStartMs + 14 * hourMs
}

/** Returns whether the day is a weekday and not a holiday of the US Federal Reserve. */
export function isBankingDay(ms: number): boolean {
  const weekday = weekdayOf(ms)
  const date = dateOf(ms)
  return weekday !== saturday && weekday !== sunday && !holidaysOf(Number(date.slice(0, 4))).has(date)
}

const [sunday, monday, thursday, saturday] = [0, 1, 4, 6]

/** Returns the date of a time, in UTC. */
export const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** Returns the day of the week. 1 January 1970 was a Thursday. */
function weekdayOf(ms: number): number {
  return (Math.floor(ms / dayMs) + thursday) % 7
}

const holidaysByYear = new Map<number, ReadonlySet<string>>()

/** Returns the dates of a year's holidays, in the order of the Federal Reserve's list. */
function holidaysOf(year: number): ReadonlySet<string> {
  const found = holidaysByYear.get(year)
  if (found !== undefined) return found
  const holidays = new Set([
    observed(year, 1, 1),
    nth(year, 1, monday, 3),
    nth(year, 2, monday, 3),
    last(year, 5, monday),
    observed(year, 6, 19),
    observed(year, 7, 4),
    nth(year, 9, monday, 1),
    nth(year, 10, monday, 2),
    observed(year, 11, 11),
    nth(year, 11, thursday, 4),
    observed(year, 12, 25),
  ])
  holidaysByYear.set(year, holidays)
  return holidays
}

function dayMsOf(year: number, month: number, day: number): number {
  const two = (number: number) => String(number).padStart(2, '0')
  return Date.parse(`${year}-${two(month)}-${two(day)}T00:00:00.000Z`)
}

/** Returns the day on which a holiday is observed. A Sunday holiday moves to Monday; a Saturday holiday stays. */
function observed(year: number, month: number, day: number): string {
  const ms = dayMsOf(year, month, day)
  return dateOf(weekdayOf(ms) === sunday ? ms + dayMs : ms)
}

function nth(year: number, month: number, weekday: number, position: number): string {
  const first = dayMsOf(year, month, 1)
  const ahead = (weekday - weekdayOf(first) + 7) % 7
  return dateOf(first + (ahead + 7 * (position - 1)) * dayMs)
}

function last(year: number, month: number, weekday: number): string {
  const fifth = nth(year, month, weekday, 5)
  return Number(fifth.slice(5, 7)) === month ? fifth : nth(year, month, weekday, 4)
}
