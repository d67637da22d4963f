import { dayMs, dayOf } from './calendar.ts'

/** The UTC hour at which banks close their books and settle the day's transfers. */
const booksHour = 14
const [sunday, monday, thursday, saturday] = [0, 1, 4, 6]

/**
 * Returns whether the UTC day of a timestamp is a banking day: Monday to Friday, except holidays of the US Federal
 * Reserve.
 */
export function isBankingDay(ms: number): boolean {
  const { weekday } = dayOf(ms)
  return weekday !== saturday && weekday !== sunday && !isHoliday(ms)
}

/** Returns the time when banks close their books on the `days`th banking day after the day of `ms`. */
export function afterBankingDays(ms: number, days: number): number {
  let dayStartMs = ms - (ms % dayMs)
  for (let left = days; left > 0; ) {
    dayStartMs += dayMs
    if (isBankingDay(dayStartMs)) left -= 1
  }
  return dayStartMs + booksHour * 60 * 60_000
}

/**
 * Returns whether the day is a holiday. A holiday that falls on a Sunday is observed on Monday. A holiday that falls on
 * a Saturday is not moved.
 */
function isHoliday(ms: number): boolean {
  const isMonday = dayOf(ms).weekday === monday
  return isFixedHoliday(ms) || isWeekdayHoliday(ms) || (isMonday && isFixedHoliday(ms - dayMs))
}

/** The months and days of New Year's Day, Juneteenth, Independence Day, Veterans Day and Christmas. */
const fixedHolidays: ReadonlySet<string> = new Set(['1-1', '6-19', '7-4', '11-11', '12-25'])

function isFixedHoliday(ms: number): boolean {
  const { month, day } = dayOf(ms)
  return fixedHolidays.has(`${month}-${day}`)
}

/**
 * The holidays that fall on a certain weekday of a month, by month. For example, `nth: 3` with `monday` means the third
 * Monday.
 */
const weekdayHolidays: Readonly<Record<number, { name: string; weekday: number; nth: number | 'last' }>> = {
  1: { name: 'Martin Luther King Jr. Day', weekday: monday, nth: 3 },
  2: { name: "Presidents' Day", weekday: monday, nth: 3 },
  5: { name: 'Memorial Day', weekday: monday, nth: 'last' },
  9: { name: 'Labor Day', weekday: monday, nth: 1 },
  10: { name: 'Columbus Day', weekday: monday, nth: 2 },
  11: { name: 'Thanksgiving', weekday: thursday, nth: 4 },
}

function isWeekdayHoliday(ms: number): boolean {
  const { month, day, weekday } = dayOf(ms)
  const holiday = weekdayHolidays[month]
  if (holiday === undefined || weekday !== holiday.weekday) return false
  const isLast = dayOf(ms + 7 * dayMs).month !== month
  return holiday.nth === 'last' ? isLast : Math.ceil(day / 7) === holiday.nth
}
