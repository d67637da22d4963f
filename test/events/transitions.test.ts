import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { purchaseTransitions } from '../../src/service/rules/card-purchases.ts'
import { cardTransactionStatuses } from '../../tools/card-transactions.ts'
import { ok } from '../payments/payer.ts'
import { merchant } from '../subscriptions/merchant.ts'
import { createInState } from '../subscriptions/states.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { outboxEvents } from './outbox-events.ts'

type PurchaseStatus = (typeof cardTransactionStatuses)[number]

const currency = 'USD'
const part = { amount: 40, currency }

/** The requests that simulate a change of a purchase. */
const requests = {
  capture: { path: 'capture', attributes: { amount: 100, currency } },
  capture_part: { path: 'capture', attributes: part },
  reverse: { path: 'reverse', attributes: {} },
  expire: { path: 'expire', attributes: {} },
  refund: { path: 'refund', attributes: part },
} as const
type Action = keyof typeof requests
const actions = Object.keys(requests) as Action[]

onEachDatabase('the events of each possible transition', (database) => {
  let world: World
  let outbox: ReturnType<typeof outboxEvents>
  let made = 0

  beforeAll(async () => {
    world = await createWorld(database)
    outbox = outboxEvents(world, () => ({}))
  })
  afterAll(() => world.drop())

  const newTypes = async () => (await outbox.newRows()).map(({ type }) => type)
  const act = (id: string, action: Action, idempotencyKey: string) => {
    const { path, attributes } = requests[action]
    return world.post(`/simulations/card-transactions/${id}/${path}`, attributes, { key: world.apiKey, idempotencyKey })
  }
  const actOn = async (id: string, action: Action) => ok(await act(id, action, `made ${made++}`)).json.data.id as string
  const purchase = async (amount = 100) =>
    ok(await world.authorize(await world.issueCard(), amount)).json.data.id as string
  const purchases: Record<PurchaseStatus, () => Promise<string>> = {
    authorized: () => purchase(),
    declined: () => purchase(5001),
    captured: async () => actOn(await purchase(), 'capture'),
    partially_captured: async () => actOn(await purchase(), 'capture_part'),
    reversed: async () => actOn(await purchase(), 'reverse'),
    refunded: async () => actOn(await actOn(await purchase(), 'capture'), 'refund'),
  }

  describe.each(cardTransactionStatuses)('a card transaction that is %s', (status) => {
    test.each(actions)('the request %s adds its events; a refusal or a replay adds none', async (action) => {
      const id = await purchases[status]()
      await newTypes()
      const after = (purchaseTransitions[status] as Partial<Record<Action, PurchaseStatus>>)[action]
      const key = `${status} ${action}`
      const answer = await act(id, action, key)
      expect(answer.status).toBe(after === undefined ? 409 : 200)
      const steps = action === 'refund' ? ['refunded', 'updated'] : [after]
      expect(await newTypes()).toEqual(after === undefined ? [] : steps.map((step) => `card_transaction.${step}`))
      expect((await act(id, action, key)).text).toBe(answer.text)
      expect(await newTypes()).toEqual([])
    })
  })

  test.each(['pending', 'active', 'completed', 'canceled'] as const)(
    'canceling a subscription that is %s adds one event if it changes the status; a replay adds none',
    async (status) => {
      const shop = merchant(world)
      const id = await createInState(shop, status)
      expect((await shop.read(id)).status).toBe(status)
      await newTypes()
      const idempotencyKey = `cancel ${status}`
      const answer = await shop.cancel(id, { idempotencyKey })
      expect(answer.status).toBe(status === 'completed' ? 409 : 200)
      expect(await newTypes()).toEqual(status === 'pending' || status === 'active' ? ['subscription.canceled'] : [])
      expect((await shop.cancel(id, { idempotencyKey })).status).toBe(answer.status)
      expect(await newTypes()).toEqual([])
    },
  )
})
