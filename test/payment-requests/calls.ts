import { ok } from '../payments/payer.ts'
import type { Answer, Sent, World } from '../support/world.ts'

/** Returns functions that call the operations on payment requests. */
export function paymentRequestCalls(world: World) {
  const path = (id: string) => `/payment-requests/${id}`
  const postWithoutBody = (url: string, sent?: Sent) => world.send('POST', url, sent)
  return {
    ask: (amount: number, payer: object, more: object = {}, sent: Sent = { key: world.apiKey }) =>
      world.post('/payment-requests', { amount, payer, ...more }, sent),
    read: (id: string, sent: Sent = { key: world.apiKey }) => world.get(path(id), sent),
    fulfill: (id: string, walletId: string, sent: Sent, more: object = {}) =>
      world.post(`${path(id)}/fulfill`, { paymentSource: { type: 'wallet', walletId }, ...more }, sent),
    decline: (id: string, sent: Sent) => postWithoutBody(`${path(id)}/decline`, sent),
    cancel: (id: string, sent: Sent = { key: world.apiKey }) => postWithoutBody(`${path(id)}/cancel`, sent),
    simulateFulfillment: (id: string, sent: Sent = { key: world.apiKey }) =>
      postWithoutBody(`/simulations/payment-requests/${id}/fulfill`, sent),
    simulateDecline: (id: string, sent: Sent = { key: world.apiKey }) =>
      postWithoutBody(`/simulations/payment-requests/${id}/decline`, sent),
    walletIdOf: async (key: string): Promise<string> => (await world.get('/wallets', { key })).json.data[0].id,
    statusOf: async (id: string, key = world.apiKey): Promise<string> =>
      (await world.get(path(id), { key })).json.data.attributes.status,
    incoming: async (key: string): Promise<string[]> => ids(await world.get('/payment-requests/incoming', { key })),
    sent: async (query = '', key = world.apiKey): Promise<string[]> =>
      ids(await world.get(`/payment-requests${query}`, { key })),
  }
}

export type PaymentRequestCalls = ReturnType<typeof paymentRequestCalls>

function ids(answer: Answer): string[] {
  return ok(answer).json.data.map(({ id }: { id: string }) => id)
}

/** Returns the id of the record in the answer. Fails the test if the request was refused. */
export function idOf(answer: Answer): string {
  return ok(answer).json.data.id
}
