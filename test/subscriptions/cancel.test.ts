import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectRefusal } from '../request/refusals.ts'
import { expectFirst, expectReplay } from '../request/replays.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant } from './merchant.ts'
import { createInState, finalNulls } from './states.ts'

onEachDatabase('canceling a subscription', (database) => {
  let world: World
  let shop: Merchant

  beforeAll(async () => {
    world = await createWorld(database, { rateLimit: 5000 })
    shop = merchant(world)
  })
  afterAll(() => world.drop())

  const cancelPath = (id: string) => `/subscriptions/${id}/cancel`

  test('canceling returns the whole subscription, with null for every attribute that no longer applies', async () => {
    const id = await shop.active()
    const { paymentIntent } = (await shop.get(id)).json.data.relationships
    const before = await shop.read(id)
    world.system.pass(1000)
    const answer = await shop.cancel(id)
    expectFirst(answer)
    expect(answer.json).toStrictEqual({
      data: {
        type: 'subscription',
        id,
        attributes: {
          ...before,
          ...finalNulls,
          status: 'canceled',
          updatedAt: new Date(world.system.now()).toISOString(),
        },
        relationships: { paymentIntent },
      },
    })
  })

  test('the answers to cancel requests have rate-limit headers with whole numbers', async () => {
    const id = await shop.create()
    for (const answer of [
      await shop.cancel(id),
      await shop.cancel(id),
      await world.send('POST', cancelPath(id), { body: '{}' }),
    ]) {
      expect(answer.headers.get('x-ratelimit-limit')).toBe('5000')
      expect(answer.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
      expect(answer.headers.get('x-ratelimit-reset')).toMatch(/^\d{10}$/)
    }
  })

  test('X-Instance-ID is optional in a cancel request, even for agents', async () => {
    for (const key of [world.agentKey, world.apiKey]) {
      const id = await shop.create()
      expectFirst(await shop.cancel(id, { key, instanceId: null }))
    }
    const long = { instanceId: 'x'.repeat(1025) }
    expectRefusal(await shop.cancel(await shop.create(), long), 'invalid_value', {
      status: 400,
      source: { header: 'X-Instance-ID' },
    })
  })

  test('an Idempotency-Key of at most 255 characters is required in a cancel request', async () => {
    const id = await shop.create()
    const source = { header: 'Idempotency-Key' }
    for (const idempotencyKey of [null, '', 'x'.repeat(256)]) {
      expectRefusal(await shop.cancel(id, { idempotencyKey }), 'invalid_value', { status: 400, source })
    }
    expect((await shop.read(id)).status).toBe('pending')
    expectFirst(await shop.cancel(id, { idempotencyKey: 'x'.repeat(255) }))
  })

  test.each([
    ['an empty body', ''],
    ['malformed JSON', '{'],
    ['an empty object as the body', '{}'],
    ['null as the body', 'null'],
    ['no attributes', '{"data":{}}'],
    ['null as attributes', '{"data":{"attributes":null}}'],
    ['an array as attributes', '{"data":{"attributes":[]}}'],
    ['an extra property next to data', '{"data":{"attributes":{}},"meta":{}}'],
    ['an extra property next to attributes', '{"data":{"type":"subscription","attributes":{}}}'],
    ['an extra attribute', '{"data":{"attributes":{"reason":"too dear"}}}'],
  ])('a cancel request with %s is refused with 400', async (_, body) => {
    const id = await shop.create()
    const answer = await world.send('POST', cancelPath(id), { body })
    expect([answer.status, answer.json.errors[0].code]).toEqual([400, 'invalid_value'])
    expect((await shop.read(id)).status).toBe('pending')
  })

  test.each(['sub_1', `sub_${'A'.repeat(32)}`, `sub_${'a'.repeat(33)}`, `pmi_${'a'.repeat(32)}`, 'x'])(
    'the malformed subscription id %s is refused with 400',
    async (id) => {
      const source = { parameter: 'subscriptionId' }
      expectRefusal(await shop.cancel(id), 'invalid_value', { status: 400, source })
    },
  )

  test('canceling an unknown subscription is refused with 404, and an invalid credential with 401', async () => {
    expectRefusal(await shop.cancel(`sub_${'0'.repeat(32)}`), 'not_found')
    expectRefusal(await shop.cancel(await shop.create(), { key: 'ak_ntl_sandbox_none' }), 'unauthenticated')
  })

  test('a replayed answer equals the first one byte for byte; another request with the same key is a conflict', async () => {
    const id = await shop.active()
    const first = await shop.cancel(id, { idempotencyKey: 'cancel once' })
    world.system.pass(60_000)
    expectReplay(await shop.cancel(id, { idempotencyKey: 'cancel once' }), first)
    const other = await shop.cancel(await shop.create(), { idempotencyKey: 'cancel once' })
    expectRefusal(other, 'conflict', { source: { header: 'Idempotency-Key' } })
  })

  test('the refusal of a cancel request is replayed too', async () => {
    const id = await createInState(shop, 'completed')
    const first = await shop.cancel(id, { idempotencyKey: 'refused' })
    expectRefusal(first, 'conflict')
    expectReplay(await shop.cancel(id, { idempotencyKey: 'refused' }), first)
  })
})
