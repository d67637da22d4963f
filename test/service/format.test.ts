import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../support/databases.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

const mebibyte = 1024 * 1024
const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Books' } }
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`))
const toOne = (type: string, prefix: string) => ({ data: { type, id: id(prefix) } })

/** Paths of every operation with a body, with ids that do not exist: what is wrong is refused before they are sought. */
const withBody = [
  '/agent-cards',
  '/simulations/agent-cards/pcd_1/authorize',
  ...['capture', 'reverse', 'expire', 'refund'].map((action) => `/simulations/card-transactions/cit_1/${action}`),
  '/simulations/clock/advance',
]

describe.each(databases)('the format of requests and answers on $name', (database) => {
  let world: World
  let authorized: string

  beforeAll(async () => {
    world = await createWorld(database)
    authorized = (await world.authorize(await world.issueCard(), 1000)).json.data.id
  })
  afterAll(() => world.drop())

  async function fetchRaw(path: string, init: RequestInit & { duplex?: 'half' }): Promise<Answer> {
    const headers = new Headers({ Authorization: `Bearer ${world.agentKey}`, 'X-Instance-ID': 'run 1' })
    headers.set('Idempotency-Key', `raw ${Math.random()}`)
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
    const response = await world.service.fetch(new Request(`http://sandbox.test${path}`, { ...init, headers }))
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
  }

  describe('the envelope', () => {
    test.each(['', '{', '[1', 'undefined', "{'data': {}}", '{"data":{"attributes":{}}} x', '\u0000', '\ufeff{}'])(
      'refuses the malformed body %j',
      async (body) => {
        for (const path of withBody) {
          expectRefusal(await world.send('POST', path, { body }), 'invalid_value', { source: { pointer: '' } })
        }
      },
    )

    test.each([
      ['{}', '/data'],
      ['[]', ''],
      ['null', ''],
      ['"data"', ''],
      ['7', ''],
      ['{"data":null}', '/data'],
      ['{"data":[]}', '/data'],
      ['{"data":{}}', '/data/attributes'],
      ['{"data":{"attributes":null}}', '/data/attributes'],
      ['{"data":{"attributes":[]}}', '/data/attributes'],
      ['{"data":{"attributes":"x"}}', '/data/attributes'],
      ['{"data":{"attributes":{},"type":"agentCard"}}', '/data/type'],
      ['{"data":{"attributes":{},"id":"pcd_1"}}', '/data/id'],
      ['{"data":{"attributes":{},"relationships":{}}}', '/data/relationships'],
      ['{"data":{"attributes":{}},"meta":{}}', '/meta'],
      ['{"data":{"attributes":{}},"a/b~c":1}', '/a~1b~0c'],
    ])('refuses %s, pointing to %j', async (body, pointer) => {
      for (const path of withBody) {
        expectRefusal(await world.send('POST', path, { body }), 'invalid_value', { source: { pointer } })
      }
    })

    test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'json', ' '])(
      'refuses the content type %j',
      async (contentType) => {
        const sent = { attributes: card, headers: { 'Content-Type': contentType } }
        for (const path of withBody) {
          expectRefusal(await world.send('POST', path, sent), 'invalid_value', { source: { header: 'Content-Type' } })
        }
      },
    )

    test('refuses a missing content type', async () => {
      const body = new TextEncoder().encode(JSON.stringify({ data: { attributes: card } }))
      const answer = await fetchRaw('/agent-cards', { method: 'POST', body })
      expectRefusal(answer, 'invalid_value', { source: { header: 'Content-Type' } })
    })

    test.each(['application/json; charset=utf-8', 'APPLICATION/JSON'])('takes the content type %j', async (type) => {
      const answer = await world.post('/agent-cards', card, { headers: { 'Content-Type': type } })
      expect(answer.status).toBe(200)
    })

    test('takes a body of 1 MiB and refuses one of a byte more, with and without its length told', async () => {
      const text = JSON.stringify({ data: { attributes: card } })
      const bodies = [text.padEnd(mebibyte), text.padEnd(mebibyte + 1)]
      const told = await Promise.all(bodies.map((body) => world.send('POST', '/agent-cards', { body })))
      const streamed = await Promise.all(
        bodies.map((body) => {
          const headers = { 'Content-Type': 'application/json' }
          return fetchRaw('/agent-cards', { method: 'POST', headers, body: new Blob([body]).stream(), duplex: 'half' })
        }),
      )
      for (const [longest, tooLong] of [told, streamed]) {
        expect(longest?.status).toBe(200)
        expectRefusal(tooLong as Answer, 'invalid_value', { source: { pointer: '' } })
      }
    })

    test('counts bytes, not characters', async () => {
      const body = JSON.stringify({ data: { attributes: { ...card, note: 'ü'.repeat(mebibyte / 2) } } })
      expectRefusal(await world.send('POST', '/agent-cards', { body }), 'invalid_value', { source: { pointer: '' } })
    })
  })

  describe('ids and queries', () => {
    const wrongIds = [
      '1',
      'cit',
      'PCD_1',
      'pcd_',
      `pcd_${'a'.repeat(101)}`,
      'pcd_%20',
      'pcd_%E0%A4',
      "pcd_1'--",
      'wal_ä',
    ]
    test.each([
      ['GET', '/agent-cards/{}', 'cardId'],
      ['GET', '/agent-cards/{}/details', 'cardId'],
      ['POST', '/simulations/agent-cards/{}/authorize', 'cardId'],
      ['GET', '/card-transactions/{}', 'cardTransactionId'],
      ['POST', '/simulations/card-transactions/{}/capture', 'cardTransactionId'],
      ['POST', '/simulations/card-transactions/{}/reverse', 'cardTransactionId'],
      ['POST', '/simulations/card-transactions/{}/expire', 'cardTransactionId'],
      ['POST', '/simulations/card-transactions/{}/refund', 'cardTransactionId'],
      ['GET', '/wallets/{}', 'walletId'],
    ])('%s %s refuses ids of another form', async (method, path, parameter) => {
      for (const wrong of wrongIds) {
        const sent = method === 'GET' ? {} : { attributes: {} }
        const answer = await world.send(method, path.replace('{}', encodeURI(decodeURISafe(wrong))), sent)
        expectRefusal(answer, 'invalid_value', { source: { parameter } })
      }
    })

    test.each([
      ['/wallets?colour=red', 'colour'],
      ['/wallets?limit=1&limit=2', 'limit'],
      ['/wallets?limit=1&limit=1', 'limit'],
      ['/wallets?cursor=cur_a&cursor=cur_a', 'cursor'],
      ['/whoami?access_token=x', 'access_token'],
      ['/card-transactions?status=paid', 'status'],
      ['/card-transactions?status=', 'status'],
      ['/card-transactions?cardId=cit_1', 'cardId'],
      ['/customers?status=some', 'status'],
      ['/agent-cards?customerPartyId=pty_1', 'customerPartyId'],
      ['/agent-cards/pcd_1?customerPartyId=', 'customerPartyId'],
      ['/agent-cards/pcd_1?__proto__=1', '__proto__'],
      ['/wallets?constructor=1', 'constructor'],
    ])('refuses GET %s', async (path, parameter) => {
      expectRefusal(await world.get(path), 'invalid_value', { source: { parameter } })
    })

    test('refuses a query on a command', async () => {
      const answer = await world.post('/agent-cards?dry=1', card)
      expectRefusal(answer, 'invalid_value', { source: { parameter: 'dry' } })
    })

    test.each([
      ['GET', '/'],
      ['GET', '/nowhere'],
      ['GET', '/agent-cards/'],
      ['GET', '//wallets'],
      ['PUT', '/agent-cards'],
      ['DELETE', '/agent-cards/pcd_1'],
      ['PATCH', '/wallets'],
      ['POST', '/whoami'],
      ['OPTIONS', '/wallets'],
      ['GET', '/simulations/clock/advance'],
      ['POST', '/simulations/card-transactions/cit_1/void'],
    ])('knows no %s %s', async (method, path) => {
      expectRefusal(await world.send(method, path), 'not_found')
    })
  })

  describe('attributes', () => {
    /** Values that no amount of money has, as JSON text. */
    const notAmounts = ['0', '-0', '-1', '1.5', '0.1', '"5"', 'null', 'true', '[1]', '{}', '9007199254740992', '1e400']
    const notCurrencies = ['"EUR"', '"usd"', '""', '"USD "', 'null', '840', '["USD"]']
    const notNames = [
      '""',
      '"   "',
      'null',
      '5',
      JSON.stringify('x'.repeat(101)),
      '"a\\nb"',
      '"a\\u0000b"',
      '"\\u007f"',
    ]
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

    /** Attributes as JSON text, of which the one at `field` is replaced by a text. */
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

    test.each(operations)('%s refuses unknown properties with 400, also beside wrong values', async (path, valid) => {
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

    test('takes the bounds', async () => {
      for (const expiresInMinutes of [5, 1440]) {
        const name = 'x'.repeat(100)
        const answer = await world.post('/agent-cards', {
          merchant: { name },
          maximumAmount: Number.MAX_SAFE_INTEGER,
          currency: 'USD',
          expiresInMinutes,
        })
        const { expiresAt, createdAt, maximumAmount, merchant } = answer.json.data.attributes
        expect({ maximumAmount, merchant }).toEqual({ maximumAmount: Number.MAX_SAFE_INTEGER, merchant: { name } })
        expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(expiresInMinutes * 60_000)
      }
    })

    test('needs seconds or to of an advance, and not both', async () => {
      const both = { seconds: 1, to: '2030-01-01T00:00:00Z' }
      for (const attributes of [{}, both]) {
        const answer = await world.post('/simulations/clock/advance', attributes)
        expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: '/data/attributes/seconds' } })
      }
    })
  })

  describe('refusals', () => {
    test('carry a support id that stands in a line of the log', async () => {
      const tooLong = ' '.repeat(mebibyte + 1)
      const refused: Record<string, Answer> = {
        'not found': await world.get('/agent-cards/pcd_1'),
        'an invalid value': await world.get('/wallets?limit=0'),
        'an unknown credential': await world.get('/wallets', { key: 'ak_ntl_sandbox_unknown' }),
        'a missing key': await world.post('/agent-cards', card, { idempotencyKey: null }),
        'a missing instance id': await world.post('/agent-cards', card, { instanceId: null }),
        'an unknown operation': await world.get('/nowhere'),
        'a body that is too long': await world.send('POST', '/agent-cards', { body: tooLong }),
      }
      const unlogged = Object.entries(refused).filter(
        ([, { json }]) => !world.logged.some((line) => line.includes(json.errors[0].meta.supportId)),
      )
      expect(unlogged.map(([name]) => name)).toEqual([])
    })

    test('are told apart by their support ids', async () => {
      const ids = await Promise.all(
        [1, 2, 3].map(async () => expectRefusal(await world.get('/wallets/wal_1'), 'not_found')),
      )
      expect(new Set(ids).size).toBe(3)
    })
  })

  describe('shapes', () => {
    test('of a card', async () => {
      const answer = await world.post('/agent-cards', card)
      expect(answer.json).toStrictEqual({
        data: {
          type: 'agentCard',
          id: id('pcd'),
          attributes: {
            status: 'active',
            ...card,
            expiresAt: timestamp,
            agentId: id('agt'),
            instanceId: 'run 1',
            createdAt: timestamp,
            updatedAt: timestamp,
          },
          relationships: {
            party: toOne('party', 'pty'),
            wallet: toOne('wallet', 'wal'),
            agent: toOne('agent', 'agt'),
          },
        },
      })
      expect((await world.get(`/agent-cards/${answer.json.data.id}`)).text).toBe(answer.text)
    })

    test('of a card transaction', async () => {
      const answer = await world.get(`/card-transactions/${authorized}`)
      expect(answer.json).toStrictEqual({
        data: {
          type: 'cardTransaction',
          id: authorized,
          attributes: {
            kind: 'purchase',
            status: 'authorized',
            amount: 1000,
            currency: 'USD',
            merchant: { name: 'Books' },
            held: 1000,
            captured: 0,
            refunded: 0,
            decline: null,
            holdExpiresAt: timestamp,
            agentId: id('agt'),
            instanceId: 'run 1',
            createdAt: timestamp,
            updatedAt: timestamp,
          },
          relationships: {
            agentCard: toOne('agentCard', 'pcd'),
            purchase: { data: null },
            party: toOne('party', 'pty'),
            wallet: toOne('wallet', 'wal'),
          },
        },
      })
    })

    test('of lists', async () => {
      for (const path of ['/wallets', '/customers', '/agent-cards', '/card-transactions']) {
        const { status, json } = await world.get(path)
        expect(status).toBe(200)
        expect(json).toStrictEqual({
          data: expect.any(Array),
          meta: { pagination: { hasMore: false, nextCursor: null } },
        })
        expect(json.data.length).toBeGreaterThan(0)
        for (const item of json.data) expect(item).toMatchObject({ type: expect.any(String), id: expect.any(String) })
      }
    })

    test('of a wallet and a customer', async () => {
      const wallets = await world.get('/wallets')
      expect(wallets.json.data[0]).toMatchObject({
        type: 'wallet',
        id: id('wal'),
        attributes: { balance: { available: 249_000, total: 250_000, currency: 'USD' } },
        relationships: { party: toOne('party', 'pty') },
      })
      const customers = await world.get('/customers')
      expect(customers.json.data[0]).toMatchObject({ type: 'customer', id: id('pty') })
      expect(customers.json.data[0].attributes.agents[0]).toMatchObject({ id: id('agt'), status: 'ACTIVE' })
    })
  })

  describe('hostile bodies', () => {
    test('of any JSON are refused, and never break the service', async () => {
      const anyJson = fc.oneof(
        fc.json({ noUnicodeString: false }),
        fc.string(),
        fc.json().map((text) => `{"data":${text}}`),
      )
      const property = fc.asyncProperty(anyJson, fc.constantFrom(...withBody), async (body, path) => {
        const answer = await world.send('POST', path, { body })
        expect([400, 404, 422]).toContain(answer.status)
        expectRefusal(answer, answer.json.errors[0].code, {
          status: answer.status,
          ...(answer.json.errors[0].source === undefined ? {} : { source: answer.json.errors[0].source }),
        })
      })
      await fc.assert(property, { numRuns: 150 })
    })

    test('of any attributes are taken or refused, and never break the service', async () => {
      const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('USD', 'Books', '\ud800', '__proto__'))
      const wild = fc.oneof(fc.jsonValue(), fc.maxSafeInteger(), text)
      const attributes = fc.record(
        {
          merchant: fc.oneof(wild, fc.record({ name: text }, { requiredKeys: [] })),
          maximumAmount: wild,
          amount: wild,
          currency: fc.oneof(fc.constant('USD'), wild),
          expiresInMinutes: wild,
          customerPartyId: wild,
        },
        { requiredKeys: [] },
      )
      const paths = withBody.filter((path) => path !== '/simulations/clock/advance')
      const property = fc.asyncProperty(attributes, fc.constantFrom(...paths), async (value, path) => {
        const { status } = await world.post(path, value)
        expect([200, 400, 403, 404, 422]).toContain(status)
      })
      await fc.assert(property, { numRuns: 150 })
    })

    test.each([
      ['arrays', '[', ']'],
      ['objects', '{"a":', '}'],
    ])('nested as deep as a body allows (%s) are refused', async (_, open, close) => {
      const depth = 100_000
      const inner = open === '[' ? '' : '1'
      const nested = `${open.repeat(depth)}${inner}${close.repeat(depth)}`
      for (const body of [
        nested,
        `{"data":{"attributes":${nested}}}`,
        `{"data":{"attributes":{"merchant":${nested}}}}`,
      ]) {
        const answer = await world.send('POST', '/agent-cards', { body })
        expect([400, 422]).toContain(answer.status)
      }
    })

    test('with names of lone surrogates read the same ever after', async () => {
      const answer = await world.send('POST', '/agent-cards', {
        body: '{"data":{"attributes":{"merchant":{"name":"a\\ud800b"},"maximumAmount":5,"currency":"USD"}}}',
      })
      expect([200, 422]).toContain(answer.status)
      if (answer.status !== 200) return
      expect((await world.get(`/agent-cards/${answer.json.data.id}`)).json).toEqual(answer.json)
    })
  })
})

function decodeURISafe(text: string): string {
  return text.includes('%') ? text.replaceAll('%E0%A4', '%') : text
}
