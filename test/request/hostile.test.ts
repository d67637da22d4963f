import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anyCharacter } from '../support/any-character.ts'
import { onEachDatabase } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

/** Paths that take a body. Malformed requests are refused before ids are looked up, so these ids need not exist. */
const pathsWithBody = [
  '/agent-cards',
  '/simulations/agent-cards/pcd_1/authorize',
  ...['capture', 'reverse', 'expire', 'refund'].map((action) => `/simulations/card-transactions/cit_1/${action}`),
  '/simulations/clock/advance',
]

onEachDatabase('hostile request bodies', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test('random JSON and strings as bodies are refused, and never break the service', async () => {
    const anyJson = fc.oneof(
      fc.json(),
      fc.string(),
      fc.json().map((text) => `{"data":${text}}`),
    )
    const property = fc.asyncProperty(anyJson, fc.constantFrom(...pathsWithBody), async (body, path) => {
      const answer = await world.send('POST', path, { body })
      expect([400, 404, 422]).toContain(answer.status)
      expectRefusal(answer, answer.json.errors[0].code, {
        status: answer.status,
        ...(answer.json.errors[0].source === undefined ? {} : { source: answer.json.errors[0].source }),
      })
    })
    await fc.assert(property, { numRuns: tries(150) })
  })

  test('random attributes are accepted or refused, and never break the service', async () => {
    const text = fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom('USD', 'Books', '\ud800', '__proto__'))
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
    const paths = pathsWithBody.filter((path) => path !== '/simulations/clock/advance')
    const property = fc.asyncProperty(attributes, fc.constantFrom(...paths), async (value, path) => {
      const { status } = await world.post(path, value)
      expect([200, 400, 403, 404, 422]).toContain(status)
    })
    await fc.assert(property, { numRuns: tries(150) })
  })

  test.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('%s nested 100,000 levels deep are refused', async (_, open, close) => {
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

  test('a merchant name with a lone surrogate is refused, or read back unchanged', async () => {
    const answer = await world.send('POST', '/agent-cards', {
      body: '{"data":{"attributes":{"merchant":{"name":"a\\ud800b"},"maximumAmount":5,"currency":"USD"}}}',
    })
    expect([200, 422]).toContain(answer.status)
    if (answer.status !== 200) return
    expect((await world.get(`/agent-cards/${answer.json.data.id}`)).json).toEqual(answer.json)
  })
})
