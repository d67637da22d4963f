import { expect } from 'vitest'
import type { Answer, Sent, World } from '../support/world.ts'

/** Returns functions that call the operations on payment requests. */
export function asking(world: World) {
  const path = (id: string) => `/payment-requests/${id}`
  const bare = (where: string, sent?: Sent) => world.send('POST', where, sent)
  return {
    ask: (amount: number, payer: object, more: object = {}, sent: Sent = { key: world.apiKey }) =>
      world.post('/payment-requests', { amount, payer, ...more }, sent),
    read: (id: string, sent: Sent = { key: world.apiKey }) => world.get(path(id), sent),
    fulfill: (id: string, walletId: string, sent: Sent, more: object = {}) =>
      world.post(`${path(id)}/fulfill`, { paymentSource: { type: 'wallet', walletId }, ...more }, sent),
    decline: (id: string, sent: Sent) => bare(`${path(id)}/decline`, sent),
    cancel: (id: string, sent: Sent = { key: world.apiKey }) => bare(`${path(id)}/cancel`, sent),
    playFulfillment: (id: string, sent: Sent = { key: world.apiKey }) =>
      bare(`/simulations/payment-requests/${id}/fulfill`, sent),
    playDecline: (id: string, sent: Sent = { key: world.apiKey }) =>
      bare(`/simulations/payment-requests/${id}/decline`, sent),
    walletOf: async (key: string): Promise<string> => (await world.get('/wallets', { key })).json.data[0].id,
    statusOf: async (id: string, key = world.apiKey): Promise<string> =>
      (await world.get(path(id), { key })).json.data.attributes.status,
    incoming: async (key: string): Promise<string[]> => ids(await world.get('/payment-requests/incoming', { key })),
    sent: async (query = '', key = world.apiKey): Promise<string[]> =>
      ids(await world.get(`/payment-requests${query}`, { key })),
  }
}

export type Asking = ReturnType<typeof asking>

function ids(answer: Answer): string[] {
  return done(answer).json.data.map(({ id }: { id: string }) => id)
}

/** Returns the answer, and fails if it is a refusal. */
export function done(answer: Answer): Answer {
  expect([200, 201], answer.text).toContain(answer.status)
  return answer
}

/** Returns the id of the created record. */
export function idOf(answer: Answer): string {
  return done(answer).json.data.id
}
