import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { openReceiver, type Receiver } from './receiver.ts'

onEachDatabase('webhooks', (database) => {
  let world: World
  let receiver: Receiver
  beforeEach(async () => {
    world = await createWorld(database)
    receiver = await openReceiver()
  })
  afterEach(async () => {
    vi.useRealTimers()
    await receiver.close()
    await world.drop()
  })

  const asParty = () => ({ key: world.apiKey })
  const create = async (attributes: object = {}) => {
    const answer = await world.post('/webhooks', { url: receiver.url, enabledEvents: ['*'], ...attributes }, asParty())
    expect(answer.status, answer.text).toBe(201)
    return answer.json.data as { id: string; attributes: Record<string, unknown> & { signingSecret: string } }
  }
  const pay = async (amount = 100) => {
    const counterparty = { type: 'email', value: 'somebody.new@example.com' }
    const answer = await world.post('/payments', { amount, currency: 'USD', counterparty })
    expect([200, 201], answer.text).toContain(answer.status)
    return answer.json.data.id as string
  }
  const deliveries = async (webhookId: string, query = '') =>
    (await world.get(`/webhooks/${webhookId}/deliveries${query}`, asParty())).json.data as {
      attributes: Record<string, unknown>
    }[]
  const types = () => receiver.received.map(({ json }) => json.type)

  test('tell of each event once, in their order, signed as Standard Webhooks say', async () => {
    const { id, attributes } = await create()
    const payment = await pay()
    await world.service.deliveries.once()
    await world.service.deliveries.once()

    expect(types()).toEqual(['payment.created', 'payment.pending_claim'])
    const [first] = receiver.received
    expect(first?.json).toMatchObject({ object: 'event', resourceId: payment, resourceType: 'payment' })
    expect(first?.headers['webhook-id']).toBe(first?.json.id)
    vi.useFakeTimers({ toFake: ['Date'], now: world.system.now() })
    const verifier = new Webhook(attributes.signingSecret)
    for (const { text, headers } of receiver.received)
      expect(verifier.verify(text, headers as Record<string, string>)).toBeTruthy()
    expect(() => verifier.verify(`${first?.text} `, first?.headers as Record<string, string>)).toThrow('No matching')
    expect((await deliveries(id)).map((one) => one.attributes.status)).toEqual(['delivered', 'delivered'])
  })
})
