import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Books' } }

onEachDatabase('request attributes', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  /** Invalid amounts of money, as JSON. */
  const badAmounts = ['0', '-0', '-1', '1.5', '0.1', '"5"', 'null', 'true', '[1]', '{}', '9007199254740992', '1e400']
  const badCurrencies = ['"EUR"', '"usd"', '""', '"USD "', 'null', '840', '["USD"]']
  const badNames = ['""', '"   "', 'null', '5', JSON.stringify('x'.repeat(101)), '"a\\nb"', '"a\\u0000b"', '"\\u007f"']
  const badPartyIds = ['""', 'null', '5', '"pty_1"', `"pty_${'A'.repeat(32)}"`, `"agt_${'a'.repeat(32)}"`]

  const invalidValues = {
    maximumAmount: badAmounts,
    amount: badAmounts,
    currency: badCurrencies,
    merchant: ['null', '"Books"', '[]', '5'],
    'merchant/name': badNames,
    expiresInMinutes: ['4', '1441', '0', '-60', '5.5', '"60"', 'null', '1e400'],
    customerPartyId: badPartyIds,
    seconds: [...badAmounts, '316224001'],
    to: ['5', 'null', '""', '"tomorrow"', '"2026-02-30T00:00:00Z"', '"2027-01-01"', '"2027-01-01T00:00:00"'],
  } as const

  const money = { amount: 100, currency: 'USD' }
  const operations = [
    ['/agent-cards', { ...card }],
    ['/simulations/agent-cards/pcd_1/authorize', { ...purchase }],
    ['/simulations/card-transactions/cit_1/capture', money],
    ['/simulations/card-transactions/cit_1/refund', money],
    ['/simulations/card-transactions/cit_1/reverse', {}],
    ['/simulations/card-transactions/cit_1/expire', {}],
    ['/simulations/clock/advance', {}],
  ] as const
  const optionalFields = {
    '/agent-cards': ['expiresInMinutes', 'customerPartyId'],
    '/simulations/clock/advance': ['seconds', 'to'],
  } as Record<string, string[]>

  /** Returns a request body with the attributes. Inserts the string `json`, unchanged, as the value of `field`. */
  function withValue(attributes: object, field: string, json: string): string {
    const [first = '', second] = field.split('/')
    const value = second === undefined ? 'MARK' : { [second]: 'MARK' }
    return JSON.stringify({ data: { attributes: { ...attributes, [first]: value } } }).replace('"MARK"', json)
  }

  const cases = operations.flatMap(([path, attributes]) => {
    const names = [...Object.keys(attributes), ...(optionalFields[path] ?? ['customerPartyId'])]
    return names
      .flatMap((name) => (name === 'merchant' ? ['merchant', 'merchant/name'] : [name]))
      .map((field) => [path, field, attributes] as const)
  })

  test.each(cases)('%s refuses invalid values of %s', async (path, field, attributes) => {
    for (const value of invalidValues[field as keyof typeof invalidValues]) {
      const answer = await world.send('POST', path, { body: withValue(attributes, field, value) })
      expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: `/data/attributes/${field}` } })
    }
  })

  test.each(cases.filter(([, field, attributes]) => field in attributes))(
    '%s requires %s',
    async (path, field, attributes) => {
      const answer = await world.post(path, { ...attributes, [field]: undefined })
      expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: `/data/attributes/${field}` } })
    },
  )

  test.each(operations)(
    '%s refuses unknown properties with 400, even if other values are invalid',
    async (path, valid) => {
      for (const [name, pointer] of Object.entries({
        colour: 'colour',
        'a/b~': 'a~1b~0',
        constructor: 'constructor',
      })) {
        for (const rest of [valid, { ...valid, currency: 'EUR', amount: -1 }]) {
          const answer = await world.post(path, { ...rest, [name]: 'red' })
          expectRefusal(answer, 'invalid_value', {
            source: { pointer: expect.stringMatching(/^\/data\/attributes\//) as unknown as string },
          })
          if (rest === valid) expect(answer.json.errors[0].source.pointer).toBe(`/data/attributes/${pointer}`)
        }
      }
    },
  )

  test('the unknown property __proto__ is refused', async () => {
    const body =
      '{"data":{"attributes":{"__proto__":{"a":1},"merchant":{"name":"B"},"maximumAmount":5,"currency":"USD"}}}'
    const answer = await world.send('POST', '/agent-cards', { body })
    expectRefusal(answer, 'invalid_value', { source: { pointer: '/data/attributes/__proto__' } })
  })

  test('unknown properties inside a merchant are refused', async () => {
    const answer = await world.post('/agent-cards', { ...card, merchant: { name: 'Books', mcc: '5942' } })
    expectRefusal(answer, 'invalid_value', { source: { pointer: '/data/attributes/merchant/mcc' } })
  })

  test('a card can have the longest name, the highest amount, and the shortest or longest lifetime', async () => {
    for (const expiresInMinutes of [5, 1440]) {
      const name = 'x'.repeat(100)
      const answer = await world.post('/agent-cards', {
        merchant: { name },
        maximumAmount: 99_999_999,
        currency: 'USD',
        expiresInMinutes,
      })
      const { expiresAt, createdAt, maximumAmount, merchant } = answer.json.data.attributes
      expect({ maximumAmount, merchant }).toEqual({ maximumAmount: 99_999_999, merchant: { name } })
      expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(expiresInMinutes * 60_000)
    }
  })

  test('advancing the clock requires exactly one of `seconds` and `to`', async () => {
    const both = { seconds: 1, to: '2030-01-01T00:00:00Z' }
    for (const attributes of [{}, both]) {
      const answer = await world.post('/simulations/clock/advance', attributes)
      expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: '/data/attributes/seconds' } })
    }
  })
})
