import { expect } from 'vitest'
import type { World } from '../support/world.ts'
import type { Receiver } from './receiver.ts'

export interface Hook {
  id: string
  secret: string
}

/**
 * Returns functions that manage webhooks and deliveries as the world's party. Only `receivedIds` reads from the
 * receiver.
 */
export function webhookHelpers(world: World, receiver: Receiver) {
  const party = { key: world.apiKey }
  const read = async (path: string) => (await world.get(path, party)).json.data
  return {
    create: async (attributes: object = {}): Promise<Hook> => {
      const answer = await world.post('/webhooks', { url: receiver.url, enabledEvents: ['*'], ...attributes }, party)
      expect(answer.status, answer.text).toBe(201)
      return { id: answer.json.data.id, secret: answer.json.data.attributes.signingSecret }
    },
    change: async ({ id }: Hook, attributes: object) => {
      const answer = await world.send('PATCH', `/webhooks/${id}`, { ...party, attributes })
      expect(answer.status, answer.text).toBe(200)
      return answer.json.data.attributes
    },
    read: async ({ id }: Hook) => (await read(`/webhooks/${id}`)).attributes,
    deliveries: async ({ id }: Hook, query = ''): Promise<Record<string, unknown>[]> =>
      (await read(`/webhooks/${id}/deliveries${query}`)).map((one: { attributes: object }) => one.attributes),
    /** Creates a wallet, which records one event. Returns the wallet's id. */
    createWallet: async (displayName = 'Savings'): Promise<string> => {
      const answer = await world.post('/wallets', { displayName }, party)
      expect(answer.status, answer.text).toBeLessThan(300)
      return answer.json.data.id
    },
    deliver: () => world.service.deliveries.once(),
    /** Advances the test's clock, then sends the deliveries that are due. */
    sendLater: async (seconds: number) => {
      world.system.pass(seconds * 1000)
      await world.service.deliveries.once()
    },
    events: async (eventType: string) =>
      (await read(`/events?eventType=${eventType}`)) as { id: string; attributes: Record<string, unknown> }[],
    receivedIds: () => receiver.received.map(({ json }) => json.resourceId as string),
  }
}

export type WebhookHelpers = ReturnType<typeof webhookHelpers>
