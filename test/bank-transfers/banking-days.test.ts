import { describe, expect, test } from 'vitest'
import { settlesAt } from '../../src/service/rules/bank-transfers.ts'
import { afterBankingDays, isBankingDay } from '../../src/service/rules/banking-days.ts'
import * as model from '../model/banking-days.ts'
import { day } from './bank.ts'

/**
 * The days from Monday to Friday on which the Federal Reserve is closed. Each of these years also has a holiday on a
 * weekend.
 */
const holidays = {
  2026: ['01-01', '01-19', '02-16', '05-25', '06-19', '09-07', '10-12', '11-11', '11-26', '12-25'],
  // Juneteenth and Christmas fall on Saturdays, so they close no weekday. Independence Day falls on a Sunday, so the
  // Federal Reserve is closed on Monday, July 5.
  2027: ['01-01', '01-18', '02-15', '05-31', '07-05', '09-06', '10-11', '11-11', '11-25'],
  // New Year's Day and Veterans Day fall on Saturdays, so they close no weekday.
  2028: ['01-17', '02-21', '05-29', '06-19', '07-04', '09-04', '10-09', '11-23', '12-25'],
}

/** The two independent implementations of banking days: one in the service, and one in the tests' model. */
const calendars = [
  { name: 'the service', isBankingDay, afterBankingDays },
  { name: 'the model', isBankingDay: model.isBankingDay, afterBankingDays: model.clearedAtMs },
]

describe.each(calendars)('the banking days of $name', ({ isBankingDay, afterBankingDays }) => {
  test.each(Object.entries(holidays))(
    'the banking days of %s are all days from Monday to Friday except the holidays',
    (year, expected) => {
      const closed: string[] = []
      for (let ms = Date.parse(`${year}-01-01T09:00:00Z`); new Date(ms).getUTCFullYear() === Number(year); ms += day) {
        const date = new Date(ms)
        const isWeekend = [0, 6].includes(date.getUTCDay())
        if (isWeekend) expect(isBankingDay(ms), date.toISOString()).toBe(false)
        else if (!isBankingDay(ms)) closed.push(date.toISOString().slice(5, 10))
      }
      expect(closed).toEqual(expected)
    },
  )

  test.each([
    ['2026-11-25T23:59:59Z', 1, '2026-11-27T14:00:00.000Z'],
    ['2026-11-25T00:00:00Z', 2, '2026-11-30T14:00:00.000Z'],
    ['2026-12-31T12:00:00Z', 1, '2027-01-04T14:00:00.000Z'],
    ['2026-07-11T12:00:00Z', 1, '2026-07-13T14:00:00.000Z'],
  ])('counted from %s, banking day number %i closes at %s', (from, days, to) =>
    expect(new Date(afterBankingDays(Date.parse(from), days)).toISOString()).toBe(to),
  )
})

describe('settlement times', () => {
  test.each([
    // 2026-10-09 is a Friday, and the Monday after it is Columbus Day.
    ['standard', 'deposit', '2026-10-09T20:00:00Z', '2026-10-14T14:00:00.000Z'],
    ['standard', 'withdrawal', '2026-10-09T20:00:00Z', '2026-10-13T14:00:00.000Z'],
    ['wire', 'withdrawal', '2026-10-09T20:00:00Z', '2026-10-09T22:00:00.000Z'],
    ['wire', 'withdrawal', '2026-10-09T22:00:00Z', '2026-10-13T14:00:00.000Z'],
    ['wire', 'withdrawal', '2026-10-10T08:00:00Z', '2026-10-13T14:00:00.000Z'],
    ['instant', 'withdrawal', '2026-10-10T08:00:00Z', '2026-10-10T08:05:00.000Z'],
  ] as const)('money sent by %s %s at %s settles at %s', (method, direction, from, to) =>
    expect(new Date(settlesAt(direction, method, Date.parse(from))).toISOString()).toBe(to),
  )
})
