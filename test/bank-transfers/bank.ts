import { expect } from 'vitest'
import { ok } from '../payments/payer.ts'
import type { Answer, Sent, World } from '../support/world.ts'

export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour

/**
 * Returns functions for bank transfers. By default, `link`, `disconnect`, `unlink` and `simulate` send the party's API
 * key, and the other functions send the agent's key.
 */
export function bankActions(world: World) {
  const owner = { key: world.apiKey }
  const dataOf = ({ status, text, json }: Answer) => {
    expect(status, text).toBeLessThan(202)
    return json.data
  }
  const move =
    (type: string) =>
    (amount: number, externalAccountId: string, more: object = {}, sent?: Sent) =>
      world.post(`/transfers/${type}`, { amount, externalAccountId, ...more }, sent)
  const [tryDeposit, tryWithdraw] = [move('deposit'), move('withdraw')]
  return {
    tryDeposit,
    tryWithdraw,
    deposit: async (...args: Parameters<typeof tryDeposit>) => dataOf(await tryDeposit(...args)),
    withdraw: async (...args: Parameters<typeof tryWithdraw>) => dataOf(await tryWithdraw(...args)),
    link: async (processorToken = 'processor-sandbox-accounts', sent: Sent = owner): Promise<string> =>
      dataOf(await world.post('/external-accounts/processor-token', { processorToken }, sent))[0].id,
    disconnect: (id: string, connectionStatus: string) =>
      world.send('POST', `/simulations/external-accounts/${id}/disconnect`, {
        ...owner,
        attributes: { connectionStatus },
      }),
    unlink: (id: string) => world.send('DELETE', `/external-accounts/${id}`, owner),
    simulate: (id: string, action: string, attributes?: object, sent: Sent = owner) =>
      world.send('POST', `/simulations/transfers/${id}/${action}`, {
        ...sent,
        ...(attributes === undefined ? {} : { attributes }),
      }),
    fund: async (amount: number) => {
      const { partyId } = await world.whoami()
      return world.post(`/simulations/customers/${partyId}/transfers/deposit`, { amount })
    },
    read: async (id: string, sent?: Sent) => ok(await world.get(`/transfers/${id}`, sent)).json.data,
    balance: async () => ok(await world.get('/wallets')).json.data[0].attributes.balance,
  }
}
