import { createSandbox } from 'payments-mcp/testing'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { buy } from './buyer.ts'

const sandbox = await createSandbox({ port: false })
const payments = { url: sandbox.url, key: sandbox.keys.agent, fetch: sandbox.fetch }
const order = { id: 'order 1', merchant: 'Example Store', price: 4250, budget: 5000 }

beforeEach(() => sandbox.reset())
afterAll(() => sandbox.close())

test('the buyer pays for an order', async () => {
  expect(await buy(payments, order)).toMatchObject({ status: 'authorized' })
  expect(await available()).toBe(245_750)
})

test('each test begins with the full balance', async () => {
  expect(await available()).toBe(250_000)
})

test('the buyer reports why the card is declined', async () => {
  const purchase = await buy(payments, { ...order, price: 5001 })
  expect(purchase).toEqual({ status: 'declined', reason: 'single_use_amount_over_maximum' })
})

test.each(['effect_then_lost', 'effect_then_503'] as const)('the buyer pays only once despite %s', async (fault) => {
  await sandbox.faults.set({ operation: 'simulate_card_authorization', fault, when: { times: 1 } })
  expect(await buy(payments, order)).toMatchObject({ status: 'authorized' })
  expect(await available()).toBe(245_750)
})

test('the money is available again after a week if the merchant does not collect it', async () => {
  await buy(payments, order)
  await sandbox.clock.advance(7 * 24 * 60 * 60)
  expect(await available()).toBe(250_000)
})

async function available(): Promise<number> {
  const headers = { Authorization: `Bearer ${sandbox.keys.agent}` }
  const { data } = await (await sandbox.fetch('/wallets', { headers })).json()
  return data[0].attributes.balance.available
}
