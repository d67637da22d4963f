import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorTable } from '../../src/core/errors.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

const mebibyte = 1024 * 1024
const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }

/** Paths that take a body. Malformed requests are refused before ids are looked up, so these ids need not exist. */
const pathsWithBody = [
  '/agent-cards',
  '/simulations/agent-cards/pcd_1/authorize',
  ...['capture', 'reverse', 'expire', 'refund'].map((action) => `/simulations/card-transactions/cit_1/${action}`),
  '/simulations/clock/advance',
]

onEachDatabase('the format of requests and answers', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
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

  describe('request bodies', () => {
    test.each(['', '{', '[1', 'undefined', "{'data': {}}", '{"data":{"attributes":{}}} x', '\u0000'])(
      'the malformed body %j is refused',
      async (body) => {
        for (const path of pathsWithBody) {
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
    ])('the body %s is refused with the pointer %j', async (body, pointer) => {
      for (const path of pathsWithBody) {
        expectRefusal(await world.send('POST', path, { body }), 'invalid_value', { source: { pointer } })
      }
    })

    test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'json', ' '])(
      'Content-Type %j is refused',
      async (contentType) => {
        const sent = { attributes: card, headers: { 'Content-Type': contentType } }
        for (const path of pathsWithBody) {
          expectRefusal(await world.send('POST', path, sent), 'invalid_value', { source: { header: 'Content-Type' } })
        }
      },
    )

    test('a missing Content-Type is refused', async () => {
      const body = new TextEncoder().encode(JSON.stringify({ data: { attributes: card } }))
      const answer = await fetchRaw('/agent-cards', { method: 'POST', body })
      expectRefusal(answer, 'invalid_value', { source: { header: 'Content-Type' } })
    })

    test.each(['application/json; charset=utf-8', 'APPLICATION/JSON'])('Content-Type %j is accepted', async (type) => {
      const answer = await world.post('/agent-cards', card, { headers: { 'Content-Type': type } })
      expect(answer.status).toBe(200)
    })

    test('a body of 1 MiB is accepted, and one more byte is refused, with and without Content-Length', async () => {
      const text = JSON.stringify({ data: { attributes: card } })
      const bodies = [text.padEnd(mebibyte), text.padEnd(mebibyte + 1)]
      const answers = await Promise.all(bodies.map((body) => world.send('POST', '/agent-cards', { body })))
      const streamed = await Promise.all(
        bodies.map((body) => {
          const headers = { 'Content-Type': 'application/json' }
          return fetchRaw('/agent-cards', { method: 'POST', headers, body: new Blob([body]).stream(), duplex: 'half' })
        }),
      )
      for (const [longest, tooLong] of [answers, streamed]) {
        expect(longest?.status).toBe(200)
        expectRefusal(tooLong as Answer, 'invalid_value', { source: { pointer: '' } })
      }
    })

    test('the size limit of a body counts bytes, not characters', async () => {
      const body = JSON.stringify({ data: { attributes: { ...card, note: 'ü'.repeat(mebibyte / 2) } } })
      expectRefusal(await world.send('POST', '/agent-cards', { body }), 'invalid_value', { source: { pointer: '' } })
    })
  })

  describe('ids and queries', () => {
    const malformedIds = [
      '1',
      'cit',
      'PCD_1',
      'pcd_',
      `pcd_${'a'.repeat(101)}`,
      'pcd_%20',
      'pcd_%',
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
    ])('%s %s refuses malformed ids', async (method, path, parameter) => {
      for (const wrong of malformedIds) {
        const sent = method === 'GET' ? {} : { attributes: {} }
        const answer = await world.send(method, path.replace('{}', encodeURI(wrong)), sent)
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
    ])('GET %s is refused because of the parameter %s', async (path, parameter) => {
      expectRefusal(await world.get(path), 'invalid_value', { source: { parameter } })
    })

    test('query parameters on a POST request are refused', async () => {
      const answer = await world.post('/agent-cards?dry=1', card)
      expectRefusal(answer, 'invalid_value', { source: { parameter: 'dry' } })
    })

    test.each([
      ['POST', '/'],
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
    ])('the API has no route %s %s', async (method, path) => {
      expectRefusal(await world.send(method, path), 'not_found')
    })
  })

  describe('refusals', () => {
    test('every error code has the status that the specification states', () => {
      expect(Object.fromEntries(Object.entries(errorTable).map(([code, { status }]) => [code, status]))).toMatchObject({
        invalid_value: 400,
        missing_instance_id: 400,
        unauthenticated: 401,
        forbidden: 403,
        issued_cards_not_enabled: 403,
        not_found: 404,
        conflict: 409,
        card_purchase_simulation_not_allowed: 409,
        mfa_required: 428,
        rate_limited: 429,
        server_error: 500,
        not_implemented: 501,
        bad_gateway: 502,
        service_unavailable: 503,
      })
    })

    test('the support id of every refusal is in the log', async () => {
      const refused: Record<string, Answer> = {
        'not found': await world.get('/agent-cards/pcd_1'),
        'an invalid value': await world.get('/wallets?limit=0'),
        'an unknown credential': await world.get('/wallets', { key: 'ak_ntl_sandbox_unknown' }),
        'a missing idempotency key': await world.post('/agent-cards', card, { idempotencyKey: null }),
        'a missing instance id': await world.post('/agent-cards', card, { instanceId: null }),
      }
      const unlogged = Object.entries(refused).filter(
        ([, { json }]) => !world.logged.some((line) => line.includes(json.errors[0].meta.supportId)),
      )
      expect(unlogged.map(([name]) => name)).toEqual([])
    })

    test('refusals have different support ids', async () => {
      const ids = await Promise.all(
        [1, 2, 3].map(async () => expectRefusal(await world.get('/wallets/wal_1'), 'not_found')),
      )
      expect(new Set(ids).size).toBe(3)
    })
  })
})
