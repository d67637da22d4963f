import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dateOf, dayMs, type Interval, startOfDayAfter } from '../../src/service/rules/calendar.ts'
import { onEachDatabase } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, monthly, proveCharges, termsOfParts } from './merchant.ts'

const dueDay = (anchor: string, unit: 'week' | 'month', count: number, steps: number) =>
  dateOf(startOfDayAfter(Date.parse(anchor), { unit, count }, steps))

describe('due days', () => {
  const rows: [anchor: string, unit: 'week' | 'month', count: number, days: string][] = [
    ['2026-01-31T23:59:59.999Z', 'month', 1, '2026-01-31 2026-02-28 2026-03-31 2026-04-30 2026-05-31'],
    ['2028-01-31', 'month', 1, '2028-01-31 2028-02-29 2028-03-31 2028-04-30'],
    ['2027-11-30', 'month', 1, '2027-11-30 2027-12-30 2028-01-30 2028-02-29 2028-03-30'],
    ['2026-11-30', 'month', 1, '2026-11-30 2026-12-30 2027-01-30 2027-02-28 2027-03-30'],
    ['2028-02-29', 'month', 5, '2028-02-29 2028-07-29 2028-12-29 2029-05-29'],
    ['2028-02-29', 'month', 4, '2028-02-29 2028-06-29 2028-10-29 2029-02-28 2029-06-29'],
    ['2099-12-31', 'month', 2, '2099-12-31 2100-02-28 2100-04-30 2100-06-30'],
    ['2026-08-31', 'month', 3, '2026-08-31 2026-11-30 2027-02-28 2027-05-31'],
    ['2026-12-28T12:00:00Z', 'week', 1, '2026-12-28 2027-01-04 2027-01-11'],
    ['2028-02-26', 'week', 1, '2028-02-26 2028-03-04 2028-03-11'],
    ['2026-03-25T00:00:00Z', 'week', 25, '2026-03-25 2026-09-16 2027-03-10'],
  ]
  test.each(rows)('payments from %s with the interval %s × %d are due on %s', (anchor, unit, count, days) => {
    expect(days.split(' ').map((_, steps) => dueDay(anchor, unit, count, steps))).toEqual(days.split(' '))
  })

  /** Finds a due day by walking through the calendar one day at a time, without the code under test. */
  function walk(anchorDay: string, { unit, count }: Interval, steps: number): string {
    let ms = Date.parse(anchorDay)
    const day = () => new Date(ms).toISOString().slice(0, 10)
    if (unit === 'week') {
      for (let left = 7 * count * steps; left > 0; left--) ms += 86_400_000
      return day()
    }
    const anchorDate = Number(anchorDay.slice(8))
    let months = 0
    while (months < count * steps) {
      ms += 86_400_000
      if (day().endsWith('-01')) months++
    }
    if (steps === 0) return anchorDay
    // `ms` is now the first day of the due month. Continue to the anchor's day of the month; in a shorter month, to its
    // last day.
    const month = day().slice(0, 7)
    for (;;) {
      if (Number(day().slice(8)) === anchorDate) return day()
      ms += 86_400_000
      if (!day().startsWith(month)) {
        ms -= 86_400_000
        return day()
      }
    }
  }

  test('due days equal those found by walking through the calendar day by day', () => {
    const scenario = fc.record({
      anchorMs: fc.integer({ min: Date.UTC(1999, 0, 1), max: Date.UTC(2110, 0, 1) }),
      lateInMonth: fc.boolean(),
      interval: fc.oneof(
        fc.record({ unit: fc.constant('week' as const), count: fc.integer({ min: 1, max: 25 }) }),
        fc.record({ unit: fc.constant('month' as const), count: fc.integer({ min: 1, max: 5 }) }),
      ),
      steps: fc.integer({ min: 0, max: 30 }),
    })
    fc.assert(
      fc.property(scenario, ({ anchorMs, lateInMonth, interval, steps }) => {
        let ms = anchorMs
        if (lateInMonth) while (new Date(ms).getUTCDate() < 28) ms += dayMs
        const found = startOfDayAfter(ms, interval, steps)
        expect(found % dayMs).toBe(0)
        expect(dateOf(found)).toBe(walk(new Date(ms).toISOString().slice(0, 10), interval, steps))
      }),
      { numRuns: tries(400) },
    )
  })

  test('consecutive due days are less than 180 days apart at the longest intervals allowed', () => {
    for (let anchor = Date.UTC(2027, 0, 1); anchor < Date.UTC(2029, 0, 1); anchor += dayMs) {
      for (const interval of [
        { unit: 'week', count: 25 },
        { unit: 'month', count: 5 },
      ] as const) {
        for (const step of [0, 1, 2]) {
          const days = (startOfDayAfter(anchor, interval, step + 1) - startOfDayAfter(anchor, interval, step)) / dayMs
          expect(days).toBeLessThan(180)
          expect(days).toBeGreaterThanOrEqual(7)
        }
      }
    }
  })
})

onEachDatabase('due days in the service', (database) => {
  let world: World
  let shop: Merchant

  beforeAll(async () => {
    world = await createWorld(database, { system: fakeSystem({ now: Date.UTC(2027, 9, 31, 23, 59, 59) }) })
    shop = merchant(world)
  })
  afterAll(async () => {
    await proveCharges(world)
    await world.drop()
  })

  test('every due day is counted from the day of payment 1, and each payment is charged on its due day', async () => {
    const month = await shop.active()
    const three = await shop.active({ ...monthly, every: { unit: 'month', count: 3 } })
    const week = await shop.active({ ...monthly, every: { unit: 'week', count: 9 } })
    const parts = await shop.active(termsOfParts(4))
    const days = ['2027-11-30', '2027-12-31', '2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30']
    for (const [index, dueDate] of days.entries()) {
      expect((await shop.read(month)).nextPayment).toMatchObject({ paymentNumber: index + 2, dueDate })
      await shop.to(dueDate)
    }
    const numbered = days.map((day, index) => `${index + 2} ${day}`)
    expect(await shop.chargedOn(month)).toEqual(['1 2027-10-31', ...numbered])
    expect(await shop.chargedOn(three)).toEqual(['1 2027-10-31', '2 2028-01-31', '3 2028-04-30'])
    expect(await shop.chargedOn(week)).toEqual(['1 2027-10-31', '2 2028-01-02', '3 2028-03-05'])
    expect(await shop.chargedOn(parts)).toEqual(['1 2027-10-31', ...numbered.slice(0, 3)])
  })

  test('a payment is charged when its due day begins at midnight UTC, and not before', async () => {
    const id = await shop.active({ ...monthly, every: { unit: 'week', count: 1 } })
    const { dueDate } = (await shop.read(id)).nextPayment as { dueDate: string }
    await shop.to(new Date(Date.parse(dueDate) - 1).toISOString())
    expect(await shop.charged(id)).toHaveLength(1)
    world.system.pass(1)
    expect((await shop.read(id)).nextPayment).toMatchObject({ paymentNumber: 3 })
    expect((await shop.charged(id))[1]?.chargedAtMs).toBe(Date.parse(dueDate))
  })
})

onEachDatabase('subscriptions on the last day of the sandbox clock', (database) => {
  test('a checkout or a due day after the end of the clock causes no server error', async () => {
    const world = await createWorld(database, { system: fakeSystem({ now: Date.UTC(9995, 11, 31, 20) }) })
    try {
      const shop = merchant(world)
      expect(
        (await world.post('/subscriptions', monthly)).status,
        'checkout expires after the end of the clock',
      ).toBeLessThan(500)
      const created = await world.post('/subscriptions', { ...monthly, expiresInMinutes: null })
      expect(created.status, 'checkout never expires').toBe(200)
      const id = created.json.data.id
      expect((await shop.checkout(id)).status, 'next payment is due after the end of the clock').toBeLessThan(500)
      expect((await shop.get(id)).status).toBe(200)
      expect((await world.get('/subscriptions')).status).toBe(200)
    } finally {
      await world.drop()
    }
  })
})
