import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freezeTerms } from '../../src/service/rules/subscription-terms.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, monthly, proveCharges, termsOfParts } from './merchant.ts'

const total = { description: 'Course', every: { unit: 'week', count: 2 }, totalAmount: 1000, taxAmount: 0 } as const

/** Refused attributes, with the pointer that names the mistake. */
const refused: [name: string, attributes: Record<string, unknown>, pointer: string][] = [
  ['no description', { ...monthly, description: undefined }, 'description'],
  ['an empty description', { ...monthly, description: '' }, 'description'],
  ['201 characters', { ...monthly, description: 'x'.repeat(201) }, 'description'],
  ['a description that is not a text', { ...monthly, description: 5 }, 'description'],
  ['no interval', { ...monthly, every: undefined }, 'every'],
  ['every 0 weeks', { ...monthly, every: { unit: 'week', count: 0 } }, 'every/count'],
  ['every 26 weeks', { ...monthly, every: { unit: 'week', count: 26 } }, 'every/count'],
  ['every 1.5 weeks', { ...monthly, every: { unit: 'week', count: 1.5 } }, 'every/count'],
  ['every -1 months', { ...monthly, every: { unit: 'month', count: -1 } }, 'every/count'],
  ['every 6 months', { ...monthly, every: { unit: 'month', count: 6 } }, 'every/count'],
  ['every 12 months', { ...monthly, every: { unit: 'month', count: 12 } }, 'every/count'],
  ['every year', { ...monthly, every: { unit: 'year', count: 1 } }, 'every/unit'],
  ['every 2 years', { ...monthly, every: { unit: 'year', count: 2 } }, 'every/unit'],
  ['every day', { ...monthly, every: { unit: 'day', count: 30 } }, 'every/unit'],
  ['no amount at all', { ...monthly, amount: undefined }, 'amount'],
  ['both amounts', { ...monthly, totalAmount: 2000, paymentCount: 2 }, 'amount'],
  ['49 cents a payment', { ...monthly, amount: 49, taxAmount: 0 }, 'amount'],
  ['0 cents', { ...monthly, amount: 0, taxAmount: 0 }, 'amount'],
  ['a negative amount', { ...monthly, amount: -1000, taxAmount: 0 }, 'amount'],
  ['half a cent', { ...monthly, amount: 1000.5 }, 'amount'],
  ['an amount as text', { ...monthly, amount: '1000' }, 'amount'],
  ['no tax', { ...monthly, taxAmount: undefined }, 'taxAmount'],
  ['a negative tax', { ...monthly, taxAmount: -1 }, 'taxAmount'],
  ['more tax than amount', { ...monthly, taxAmount: 1001 }, 'taxAmount'],
  ['more tax than total', { ...total, paymentCount: 2, taxAmount: 1001 }, 'taxAmount'],
  ['an amount with a number of payments', { ...monthly, paymentCount: 3 }, 'paymentCount'],
  ['a total without a number of payments', total, 'paymentCount'],
  ['a total with null payments', { ...total, paymentCount: null }, 'paymentCount'],
  ['a total in 1 payment', { ...total, paymentCount: 1 }, 'paymentCount'],
  ['a total in 5 payments', { ...total, paymentCount: 5 }, 'paymentCount'],
  ['a total in 2.5 payments', { ...total, paymentCount: 2.5 }, 'paymentCount'],
  ['a total whose parts are 49 and 50', { ...total, totalAmount: 99, paymentCount: 2 }, 'totalAmount'],
  ['a total whose smallest part is 49', { ...total, totalAmount: 199, paymentCount: 4 }, 'totalAmount'],
  ['a checkout of 4 minutes', { ...monthly, expiresInMinutes: 4 }, 'expiresInMinutes'],
  ['a customer that is not a party', { ...monthly, customerPartyId: 'pty_1' }, 'customerPartyId'],
]

const accepted: [name: string, attributes: Record<string, unknown>][] = [
  ['1 character', { ...monthly, description: 'x' }],
  ['200 characters', { ...monthly, description: 'x'.repeat(200) }],
  // JSON Schema's maxLength, used by the OpenAPI document, counts characters (RFC 8259), not UTF-16 units.
  ['200 characters beyond the basic plane', { ...monthly, description: '😀'.repeat(200) }],
  ['every week', { ...monthly, every: { unit: 'week', count: 1 } }],
  ['every 25 weeks', { ...monthly, every: { unit: 'week', count: 25 } }],
  ['every 5 months', { ...monthly, every: { unit: 'month', count: 5 } }],
  ['50 cents', { ...monthly, amount: 50, taxAmount: 0 }],
  ['an amount that is all tax', { ...monthly, taxAmount: 1000 }],
  ['no end, given as null', { ...monthly, paymentCount: null }],
  ['two parts of 50', { ...total, totalAmount: 100, paymentCount: 2 }],
  ['four parts of 50 and more', { ...total, totalAmount: 201, paymentCount: 4, taxAmount: 201 }],
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

  test.each(refused)('%s is refused with 422 and the pointer', async (_, attributes, pointer) => {
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

  test('a year is refused with a clear reason', async () => {
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

  test('a pending subscription has every field, and null exactly where the table says so', async () => {
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

  test('an active subscription has a mandate and a due day, and no checkout', async () => {
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

  test('the parts of a total are in its terms, with the remaining cents in the first ones', async () => {
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

  test('the terms never change', async () => {
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

  test('every accepted amount can be collected, and breaks nothing else', async () => {
    const answer = await create({ ...monthly, amount: Number.MAX_SAFE_INTEGER })
    if (answer.status !== 200) {
      expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: '/data/attributes/amount' } })
      return
    }
    const newWorld = await createWorld(database)
    try {
      const its = merchant(newWorld)
      const id = await its.create({ ...monthly, amount: Number.MAX_SAFE_INTEGER })
      const other = await its.create()
      const statuses: Record<string, number> = { checkout: (await its.checkout(id)).status }
      newWorld.system.pass(40 * 86_400_000)
      for (const path of ['/simulations/clock', '/wallets', '/subscriptions', '/agent-cards']) {
        statuses[path] = (await newWorld.get(path)).status
      }
      statuses['another create'] = (await newWorld.post('/subscriptions', monthly)).status
      statuses['another read'] = (await its.get(other)).status
      const failing = Object.entries(statuses).filter(([, status]) => status !== 200)
      expect(Object.fromEntries(failing)).toEqual({})
    } finally {
      await newWorld.drop()
    }
  })
})

describe('the parts of a total', () => {
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

  test('add up exactly, like their taxes, and are at least 50 cents, in falling order and at most a cent apart', () => {
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

  test('are refused when the smallest would be under 50 cents, and only then', () => {
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
