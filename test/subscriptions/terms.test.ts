import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freezeTerms } from '../../src/service/rules/subscription-terms.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, monthly, proveCharges, termsOfParts } from './merchant.ts'

const total = { description: 'Course', every: { unit: 'week', count: 2 }, totalAmount: 1000, taxAmount: 0 } as const

/** Attributes that are refused, each with the field that the error's pointer names. */
const refused: [name: string, attributes: Record<string, unknown>, pointer: string][] = [
  ['a missing description', { ...monthly, description: undefined }, 'description'],
  ['an empty description', { ...monthly, description: '' }, 'description'],
  ['a description of 201 characters', { ...monthly, description: 'x'.repeat(201) }, 'description'],
  ['a description that is a number', { ...monthly, description: 5 }, 'description'],
  ['a missing interval', { ...monthly, every: undefined }, 'every'],
  ['an interval of 0 weeks', { ...monthly, every: { unit: 'week', count: 0 } }, 'every/count'],
  ['an interval of 26 weeks', { ...monthly, every: { unit: 'week', count: 26 } }, 'every/count'],
  ['an interval of 1.5 weeks', { ...monthly, every: { unit: 'week', count: 1.5 } }, 'every/count'],
  ['an interval of -1 months', { ...monthly, every: { unit: 'month', count: -1 } }, 'every/count'],
  ['an interval of 6 months', { ...monthly, every: { unit: 'month', count: 6 } }, 'every/count'],
  ['an interval of 12 months', { ...monthly, every: { unit: 'month', count: 12 } }, 'every/count'],
  ['an interval of 1 year', { ...monthly, every: { unit: 'year', count: 1 } }, 'every/unit'],
  ['an interval of 2 years', { ...monthly, every: { unit: 'year', count: 2 } }, 'every/unit'],
  ['an interval of 30 days', { ...monthly, every: { unit: 'day', count: 30 } }, 'every/unit'],
  ['a subscription with neither amount nor totalAmount', { ...monthly, amount: undefined }, 'amount'],
  ['a subscription with both amount and totalAmount', { ...monthly, totalAmount: 2000, paymentCount: 2 }, 'amount'],
  ['an amount of 49 cents', { ...monthly, amount: 49, taxAmount: 0 }, 'amount'],
  ['an amount of 0 cents', { ...monthly, amount: 0, taxAmount: 0 }, 'amount'],
  ['a negative amount', { ...monthly, amount: -1000, taxAmount: 0 }, 'amount'],
  ['an amount of 1000.5 cents', { ...monthly, amount: 1000.5 }, 'amount'],
  ['an amount that is a string', { ...monthly, amount: '1000' }, 'amount'],
  ['a missing taxAmount', { ...monthly, taxAmount: undefined }, 'taxAmount'],
  ['a negative taxAmount', { ...monthly, taxAmount: -1 }, 'taxAmount'],
  ['a taxAmount above the amount', { ...monthly, taxAmount: 1001 }, 'taxAmount'],
  ['a taxAmount above the totalAmount', { ...total, paymentCount: 2, taxAmount: 1001 }, 'taxAmount'],
  ['an amount with a paymentCount', { ...monthly, paymentCount: 3 }, 'paymentCount'],
  ['a total without a paymentCount', total, 'paymentCount'],
  ['a total with a paymentCount of null', { ...total, paymentCount: null }, 'paymentCount'],
  ['a total in 1 payment', { ...total, paymentCount: 1 }, 'paymentCount'],
  ['a total in 5 payments', { ...total, paymentCount: 5 }, 'paymentCount'],
  ['a total in 2.5 payments', { ...total, paymentCount: 2.5 }, 'paymentCount'],
  ['a total split into 50 and 49 cents', { ...total, totalAmount: 99, paymentCount: 2 }, 'totalAmount'],
  ['a total whose smallest payment is 49 cents', { ...total, totalAmount: 199, paymentCount: 4 }, 'totalAmount'],
  ['a checkout that expires in 4 minutes', { ...monthly, expiresInMinutes: 4 }, 'expiresInMinutes'],
  ['a malformed customerPartyId', { ...monthly, customerPartyId: 'pty_1' }, 'customerPartyId'],
]

const accepted: [name: string, attributes: Record<string, unknown>][] = [
  ['a description of 1 character', { ...monthly, description: 'x' }],
  ['a description of 200 characters', { ...monthly, description: 'x'.repeat(200) }],
  // The OpenAPI document declares the limit as `maxLength`. This keyword counts characters (RFC 8259), not UTF-16 code
  // units.
  ['a description of 200 emoji', { ...monthly, description: '😀'.repeat(200) }],
  ['an interval of 1 week', { ...monthly, every: { unit: 'week', count: 1 } }],
  ['an interval of 25 weeks', { ...monthly, every: { unit: 'week', count: 25 } }],
  ['an interval of 5 months', { ...monthly, every: { unit: 'month', count: 5 } }],
  ['an amount of 50 cents', { ...monthly, amount: 50, taxAmount: 0 }],
  ['an amount equal to its tax', { ...monthly, taxAmount: 1000 }],
  ['a paymentCount of null, which means no end,', { ...monthly, paymentCount: null }],
  ['a total split into 2 payments of 50 cents', { ...total, totalAmount: 100, paymentCount: 2 }],
  ['a total split into 4 payments of 50 or 51 cents', { ...total, totalAmount: 201, paymentCount: 4, taxAmount: 201 }],
]

onEachDatabase('creating a subscription', (database) => {
  let world: World
  let shop: Merchant

  beforeAll(async () => {
    world = await createWorld(database)
    shop = merchant(world)
  })
  afterAll(async () => {
    await proveCharges(world)
    await world.drop()
  })

  const create = (attributes: unknown) => world.post('/subscriptions', attributes)

  test.each(refused)('%s is refused with 422 and a pointer to the field', async (_, attributes, pointer) => {
    const source = { pointer: `/data/attributes/${pointer}` }
    expectRefusal(await create(attributes), 'invalid_value', { status: 422, source })
  })

  test.each(accepted)('%s is accepted', async (_, attributes) => {
    const answer = await create(attributes)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.json.data.attributes.terms).toMatchObject({
      ...attributes,
      paymentCount: attributes.paymentCount ?? null,
    })
  })

  test('the refusal of a yearly interval says that years are not yet available, and which units are', async () => {
    const { json } = await create({ ...monthly, every: { unit: 'year', count: 1 } })
    expect(json.errors[0].detail).toMatch(/year.*not yet available/i)
    expect(json.errors[0].detail).toMatch(/week or month/)
  })

  test('unknown attributes are refused with 400', async () => {
    const unknown = [
      { ...monthly, currency: 'USD' },
      { ...monthly, payments: [] },
      { ...monthly, status: 'active' },
      { ...monthly, every: { unit: 'week', count: 1, day: 3 } },
    ]
    for (const attributes of unknown) expect((await create(attributes)).status).toBe(400)
  })

  test('a pending subscription has every field, with null exactly where the documentation says so', async () => {
    const answer = await create(monthly)
    const pattern = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`))
    const now = '2026-01-15T12:00:00.000Z'
    expect(answer.json).toStrictEqual({
      data: {
        type: 'subscription',
        id: pattern('sub'),
        attributes: {
          status: 'pending',
          terms: { ...monthly, paymentCount: null },
          currency: 'USD',
          nextPayment: { paymentNumber: 1, dueDate: null, amount: 1000, taxAmount: 100 },
          missedPayments: [],
          attention: null,
          mandateId: null,
          checkoutUrl: expect.stringMatching(/^https?:\/\/\S+$/),
          clientSecret: expect.stringMatching(/\S{32,}/),
          expiresAt: '2026-01-16T12:00:00.000Z',
          createdAt: now,
          updatedAt: now,
        },
        relationships: { paymentIntent: { data: { type: 'paymentIntent', id: pattern('pmi') } } },
      },
    })
    expect((await shop.get(answer.json.data.id)).text).toBe(answer.text)
    const listed: { id: string }[] = (await world.get('/subscriptions?limit=100')).json.data
    expect(listed.find(({ id }) => id === answer.json.data.id)).toStrictEqual(answer.json.data)
    const other = (await create(monthly)).json.data
    for (const field of ['checkoutUrl', 'clientSecret']) {
      expect(other.attributes[field]).not.toBe(answer.json.data.attributes[field])
    }
    expect(other.relationships).not.toEqual(answer.json.data.relationships)
  })

  test('an active subscription has a mandate and a due date, but no checkout', async () => {
    const { attributes } = (await shop.get(await shop.active())).json.data
    expect(attributes).toStrictEqual({
      status: 'active',
      terms: { ...monthly, paymentCount: null },
      currency: 'USD',
      nextPayment: { paymentNumber: 2, dueDate: '2026-02-15', amount: 1000, taxAmount: 100 },
      missedPayments: [],
      attention: null,
      mandateId: expect.stringMatching(/^mdt_[0-9a-f]{32}$/),
      checkoutUrl: null,
      clientSecret: null,
      expiresAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
  })

  test('the terms list the payments that a total is split into; leftover cents go to the first payments', async () => {
    const { terms, nextPayment } = await shop.read(await shop.create({ ...termsOfParts(4, 1003), taxAmount: 101 }))
    expect(terms).toStrictEqual({
      ...termsOfParts(4, 1003),
      taxAmount: 101,
      payments: [
        { amount: 251, taxAmount: 26 },
        { amount: 251, taxAmount: 25 },
        { amount: 251, taxAmount: 25 },
        { amount: 250, taxAmount: 25 },
      ],
    })
    expect(nextPayment).toEqual({ paymentNumber: 1, dueDate: null, amount: 251, taxAmount: 26 })
  })

  test('the terms of a subscription never change', async () => {
    const id = await shop.create(termsOfParts(3, 1000))
    const { terms } = await shop.read(id)
    await shop.checkout(id)
    await shop.card(id, 'declines')
    await world.system.pass(40 * 86_400_000)
    expect((await shop.read(id)).terms).toStrictEqual(terms)
    await shop.markPaid(id, 2)
    await shop.cancel(id)
    expect((await shop.read(id)).terms).toStrictEqual(terms)
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      expect((await world.send(method, `/subscriptions/${id}`, { attributes: monthly })).status).toBe(404)
    }
  })

  test('the largest amount is $999,999.99: it can be collected, and one cent more is refused', async () => {
    const largest = 99_999_999
    const refusedAnswer = await create({ ...monthly, amount: largest + 1 })
    expectRefusal(refusedAnswer, 'invalid_value', { status: 422, source: { pointer: '/data/attributes/amount' } })
    const id = await shop.active({ ...monthly, amount: largest })
    await shop.pass(40)
    const collected = (await shop.charged(id)).map(({ paymentNumber, amountCents }) => [paymentNumber, amountCents])
    expect(collected).toEqual([
      [1, largest],
      [2, largest],
    ])
    for (const path of ['/simulations/clock', '/wallets', '/subscriptions', '/agent-cards'])
      expect((await world.get(path)).status, path).toBe(200)
  })
})

describe('splitting a total into payments', () => {
  const proposal = fc
    .record({
      paymentCount: fc.integer({ min: 2, max: 4 }),
      extra: fc.nat(100_000),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ paymentCount, extra, share }) => {
      const totalAmount = 50 * paymentCount + extra
      return { paymentCount, totalAmount, taxAmount: Math.round(totalAmount * share) }
    })

  test('no payment is under 50 cents; payments and taxes add up exactly, never increase, and differ by at most a cent', () => {
    fc.assert(
      fc.property(proposal, ({ paymentCount, totalAmount, taxAmount }) => {
        const terms = freezeTerms({
          description: 'x',
          every: { unit: 'week', count: 1 },
          totalAmount,
          taxAmount,
          paymentCount,
        })
        if (terms.paymentCount === null) throw new Error('expected an end')
        expect(terms.payments).toHaveLength(paymentCount)
        for (const [field, whole] of [
          ['amount', totalAmount],
          ['taxAmount', taxAmount],
        ] as const) {
          const parts = terms.payments.map((payment) => payment[field])
          expect(parts.reduce((sum, part) => sum + part, 0)).toBe(whole)
          expect(parts).toEqual(parts.toSorted((a, b) => b - a))
          expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1)
        }
        for (const { amount, taxAmount: tax } of terms.payments) {
          expect(amount).toBeGreaterThanOrEqual(50)
          expect(tax).toBeLessThanOrEqual(amount)
          expect(tax).toBeGreaterThanOrEqual(0)
        }
      }),
      { numRuns: tries(500) },
    )
  })

  test('a total is refused if, and only if, its smallest payment would be under 50 cents', () => {
    const total = fc.record({
      paymentCount: fc.integer({ min: 2, max: 4 }),
      totalAmount: fc.integer({ min: 1, max: 260 }),
    })
    fc.assert(
      fc.property(total, ({ paymentCount, totalAmount }) => {
        const freeze = () =>
          freezeTerms({ description: 'x', every: { unit: 'week', count: 1 }, totalAmount, taxAmount: 0, paymentCount })
        if (Math.floor(totalAmount / paymentCount) < 50) expect(freeze).toThrow(/a card payment is \$0.50 to/)
        else expect(freeze).not.toThrow()
      }),
      { numRuns: tries(500) },
    )
  })
})
