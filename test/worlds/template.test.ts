import { expect, it } from 'vitest'
import { createService } from '../../src/service/service.ts'
import { parseWorld } from '../../src/worlds/parse.ts'
import { worldTemplate } from '../../src/worlds/template.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'

onEachDatabase('the world file that init writes', (database) => {
  it.each([
    ['as it is written', false, 250_000],
    ['with all of its examples', true, 250_000],
  ])('starts, %s, and its agent buys', async (_, whole, balance) => {
    const system = fakeSystem()
    const { store, drop } = await database.create(system)
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    const world = parseWorld(worldTemplate('world.yaml', whole), 'world.yaml')
    const service = createService({ store, system, environment: 'sandbox', rateLimit: 1_000_000, log, world })
    const { agentKey } = await service.seed({ apiKey: undefined, agentKey: undefined })
    const send = async (method: string, path: string, attributes?: object) => {
      const headers = { Authorization: `Bearer ${agentKey}`, 'X-Instance-ID': 'run 1', 'Idempotency-Key': path }
      const body = attributes && JSON.stringify({ data: { attributes } })
      const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
      const request = { method, headers: { ...headers, ...type }, ...(body && { body }) }
      const answer = await service.fetch(new Request(`http://127.0.0.1:4010${path}`, request))
      expect(answer.status, await answer.clone().text()).toBeLessThan(300)
      // biome-ignore lint/suspicious/noExplicitAny: the answer of whichever operation.
      return ((await answer.json()) as any).data
    }
    type Wallet = { attributes: { displayName: string; balance: object } }
    const available = async () =>
      ((await send('GET', '/wallets')) as Wallet[])
        .map(({ attributes }) => attributes)
        .filter(({ displayName }) => displayName === 'Main wallet')
    expect(await available()).toMatchObject([{ balance: { available: balance } }])
    const shop = { merchant: { name: 'Example Store' }, currency: 'USD' }
    const card = await send('POST', '/agent-cards', { ...shop, maximumAmount: 5000 })
    const purchase = await send('POST', `/simulations/agent-cards/${card.id}/authorize`, { ...shop, amount: 4250 })
    await send('POST', `/simulations/card-transactions/${purchase.id}/capture`, { amount: 4250, currency: 'USD' })
    expect(await available()).toMatchObject([{ balance: { available: balance - 4250 } }])
    await drop()
  })
})

it('is told in lines that a terminal shows whole, and comments in whole sentences', () => {
  for (const line of worldTemplate('world.yaml').split('\n')) {
    expect(line.length).toBeLessThanOrEqual(105)
    expect(line).toBe(line.trimEnd())
  }
  expect(worldTemplate('world.yaml')).toContain('payments-mcp serve --world world.yaml')
})
