import { dayMs } from './state.ts'

const hourMs = 60 * 60 * 1000

/** Counts the given number of banking days after the day of `ms`, and returns 14:00 UTC on the last of them. */
export function clearedAtMs(ms: number, bankingDays: number): number {
  let dayStartMs = ms - (ms % dayMs)
  for (let passed = 0; passed < bankingDays; ) {
    dayStartMs += dayMs
    if (isBankingDay(dayStartMs)) passed++
  }
  return dayStartMs + 14 * hourMs
}

/** Returns whether the day of `ms` is a weekday that is not a holiday of the US Federal Reserve. */
export function isBankingDay(ms: number): boolean {
  const weekday = weekdayOf(ms)
  const date = dateOf(ms)
  return weekday !== saturday && weekday !== sunday && !holidaysOf(Number(date.slice(0, 4))).has(date)
}

const [sunday, monday, thursday, saturday] = [0, 1, 4, 6]

/** Returns the UTC date of a time, such as `2026-07-03`. */
export const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** Returns the day of the week. Times count from January 1, 1970, which was a Thursday. */
function weekdayOf(ms: number): number {
  return (Math.floor(ms / dayMs) + thursday) % 7
}

const holidaysByYear = new Map<number, ReadonlySet<string>>()

/** Returns the dates of the Federal Reserve's holidays in a year, in the order of the Federal Reserve's own list. */
function holidaysOf(year: number): ReadonlySet<string> {
  const found = holidaysByYear.get(year)
  if (found !== undefined) return found
  const holidays = new Set([
    observedDate(year, 1, 1),
    nthWeekday(year, 1, monday, 3),
    nthWeekday(year, 2, monday, 3),
    lastWeekday(year, 5, monday),
    observedDate(year, 6, 19),
    observedDate(year, 7, 4),
    nthWeekday(year, 9, monday, 1),
    nthWeekday(year, 10, monday, 2),
    observedDate(year, 11, 11),
    nthWeekday(year, 11, thursday, 4),
    observedDate(year, 12, 25),
  ])
  holidaysByYear.set(year, holidays)
  return holidays
}

function midnightMs(year: number, month: number, day: number): number {
  const twoDigits = (number: number) => String(number).padStart(2, '0')
  return Date.parse(`${year}-${twoDigits(month)}-${twoDigits(day)}T00:00:00.000Z`)
}

/** Returns the date on which a holiday is observed. Sunday holidays move to Monday; Saturday holidays do not move. */
function observedDate(year: number, month: number, day: number): string {
  const ms = midnightMs(year, month, day)
  return dateOf(weekdayOf(ms) === sunday ? ms + dayMs : ms)
}

function nthWeekday(year: number, month: number, weekday: number, position: number): string {
  const first = midnightMs(year, month, 1)
  const ahead = (weekday - weekdayOf(first) + 7) % 7
  return dateOf(first + (ahead + 7 * (position - 1)) * dayMs)
}

function lastWeekday(year: number, month: number, weekday: number): string {
  const fifth = nthWeekday(year, month, weekday, 5)
  return Number(fifth.slice(5, 7)) === month ? fifth : nthWeekday(year, month, weekday, 4)
}
