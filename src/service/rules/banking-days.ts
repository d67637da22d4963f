import { dayMs, dayOf } from './calendar.ts'

/** The UTC hour at which banks close their books. The day's transfers then reach their accounts. */
const booksHour = 14
const [sunday, monday, thursday, saturday] = [0, 1, 4, 6]

/**
 * Returns whether an instant's UTC day is a banking day: Monday to Friday, except on holidays of the US Federal
 * Reserve.
 */
export function isBankingDay(ms: number): boolean {
  const { weekday } = dayOf(ms)
  return weekday !== saturday && weekday !== sunday && !isHoliday(ms)
}

/** Returns the time when banks close their books `days` banking days after an instant's day. */
export function afterBankingDays(ms: number, days: number): number {
  let dayStartMs = ms - (ms % dayMs)
  for (let left = days; left > 0; ) {
    dayStartMs += dayMs
    if (isBankingDay(dayStartMs)) left -= 1
  }
  return dayStartMs + booksHour * 60 * 60_000
}

/**
 * Returns whether the day is a holiday. A holiday on a Sunday moves to Monday; a holiday on a Saturday does not move.
 */
function isHoliday(ms: number): boolean {
  const isMonday = dayOf(ms).weekday === monday
  return isFixedHoliday(ms) || isMovingHoliday(ms) || (isMonday && isFixedHoliday(ms - dayMs))
}

/** The months and days of New Year's Day, Juneteenth, Independence Day, Veterans Day and Christmas. */
const fixed: ReadonlySet<string> = new Set(['1-1', '6-19', '7-4', '11-11', '12-25'])

function isFixedHoliday(ms: number): boolean {
  const { month, day } = dayOf(ms)
  return fixed.has(`${month}-${day}`)
}

/**
 * The movable holidays, by month. `which` counts the weekday within the month: 3 and `monday` mean the third Monday.
 */
const moving: Readonly<Record<number, { name: string; weekday: number; which: number | 'last' }>> = {
  1: { name: 'Martin Luther King Jr. Day', weekday: monday, which: 3 },
  2: { name: "Presidents' Day", weekday: monday, which: 3 },
  5: { name: 'Memorial Day', weekday: monday, which: 'last' },
  9: { name: 'Labor Day', weekday: monday, which: 1 },
  10: { name: 'Columbus Day', weekday: monday, which: 2 },
  11: { name: 'Thanksgiving', weekday: thursday, which: 4 },
}

function isMovingHoliday(ms: number): boolean {
  const { month, day, weekday } = dayOf(ms)
  const holiday = moving[month]
  if (holiday === undefined || weekday !== holiday.weekday) return false
  const isLast = dayOf(ms + 7 * dayMs).month !== month
  return holiday.which === 'last' ? isLast : Math.ceil(day / 7) === holiday.which
}
