import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Books' } }

onEachDatabase('attributes', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  /** Values that are not amounts of money, as JSON text. */
  const notAmounts = ['0', '-0', '-1', '1.5', '0.1', '"5"', 'null', 'true', '[1]', '{}', '9007199254740992', '1e400']
  const notCurrencies = ['"EUR"', '"usd"', '""', '"USD "', 'null', '840', '["USD"]']
  const notNames = ['""', '"   "', 'null', '5', JSON.stringify('x'.repeat(101)), '"a\\nb"', '"a\\u0000b"', '"\\u007f"']
  const notParties = ['""', 'null', '5', '"pty_1"', `"pty_${'A'.repeat(32)}"`, `"agt_${'a'.repeat(32)}"`]

  const fields = {
    maximumAmount: notAmounts,
    amount: notAmounts,
    currency: notCurrencies,
    merchant: ['null', '"Books"', '[]', '5'],
    'merchant/name': notNames,
    expiresInMinutes: ['4', '1441', '0', '-60', '5.5', '"60"', 'null', '1e400'],
    customerPartyId: notParties,
    seconds: [...notAmounts, '316224001'],
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
  const optional = {
    '/agent-cards': ['expiresInMinutes', 'customerPartyId'],
    '/simulations/clock/advance': ['seconds', 'to'],
  } as Record<string, string[]>

  /** Returns attributes as JSON text, with the given JSON text as the value of `field`. */
  function withValue(attributes: object, field: string, text: string): string {
    const [first = '', second] = field.split('/')
    const value = second === undefined ? 'MARK' : { [second]: 'MARK' }
    return JSON.stringify({ data: { attributes: { ...attributes, [first]: value } } }).replace('"MARK"', text)
  }

  const cases = operations.flatMap(([path, attributes]) => {
    const names = [...Object.keys(attributes), ...(optional[path] ?? ['customerPartyId'])]
    return names
      .flatMap((name) => (name === 'merchant' ? ['merchant', 'merchant/name'] : [name]))
      .map((field) => ({ path, attributes, field }))
  })

  test.each(cases)('$path refuses wrong values of $field', async ({ path, attributes, field }) => {
    for (const value of fields[field as keyof typeof fields]) {
      const answer = await world.send('POST', path, { body: withValue(attributes, field, value) })
      expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: `/data/attributes/${field}` } })
    }
  })

  test.each(cases.filter(({ attributes, field }) => field in attributes))(
    '$path needs $field',
    async ({ path, attributes, field }) => {
      const answer = await world.post(path, { ...attributes, [field]: undefined })
      expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: `/data/attributes/${field}` } })
    },
  )

  test.each(operations)('%s refuses unknown properties with 400, also next to wrong values', async (path, valid) => {
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
  })

  test('refuses the unknown property __proto__', async () => {
    const body =
      '{"data":{"attributes":{"__proto__":{"a":1},"merchant":{"name":"B"},"maximumAmount":5,"currency":"USD"}}}'
    const answer = await world.send('POST', '/agent-cards', { body })
    expectRefusal(answer, 'invalid_value', { source: { pointer: '/data/attributes/__proto__' } })
  })

  test('refuses unknown properties inside a merchant', async () => {
    const answer = await world.post('/agent-cards', { ...card, merchant: { name: 'Books', mcc: '5942' } })
    expectRefusal(answer, 'invalid_value', { source: { pointer: '/data/attributes/merchant/mcc' } })
  })

  test('accepts the limits of each range', async () => {
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

  test('needs either `seconds` or `to` to advance the clock', async () => {
    const both = { seconds: 1, to: '2030-01-01T00:00:00Z' }
    for (const attributes of [{}, both]) {
      const answer = await world.post('/simulations/clock/advance', attributes)
      expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: '/data/attributes/seconds' } })
    }
  })
})
