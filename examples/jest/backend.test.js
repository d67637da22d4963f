import { once } from 'node:events'
import { createSandbox } from 'payments-mcp/testing'
import { createBackend } from './backend.js'

let sandbox
let backend
let address

beforeAll(async () => {
  sandbox = await createSandbox()
  backend = createBackend({ url: sandbox.url, key: sandbox.keys.agent }).listen(0, '127.0.0.1')
  await once(backend, 'listening')
  address = `http://127.0.0.1:${backend.address().port}`
})

beforeEach(() => sandbox.reset())

afterAll(async () => {
  backend.close()
  await sandbox.close()
})

test('the backend buys a ticket', async () => {
  expect(await order({ price: 4250 })).toEqual([201, { status: 'authorized' }])
})

test('the backend answers 402 if the card is declined', async () => {
  const reason = 'single_use_amount_over_maximum'
  expect(await order({ price: 5001 })).toEqual([402, { status: 'declined', reason }])
})

test('the backend buys only one ticket even if an answer of the payments API is lost', async () => {
  await sandbox.faults.set({
    operation: 'simulate_card_authorization',
    fault: 'effect_then_lost',
    when: { times: 1 },
  })
  expect(await order({ price: 4250 })).toEqual([201, { status: 'authorized' }])
  const answer = await sandbox.fetch('/card-transactions', {
    headers: { Authorization: `Bearer ${sandbox.keys.agent}` },
  })
  expect((await answer.json()).data).toHaveLength(1)
})

test('the backend answers 502 if the payments API is unavailable', async () => {
  await sandbox.faults.set({ operation: '*', fault: 'reset' })
  expect(await order({ price: 4250 })).toEqual([502, { reason: 'The payments API is unavailable.' }])
})

async function order({ price }) {
  const response = await fetch(address, {
    method: 'POST',
    body: JSON.stringify({ id: 'order 1', price, budget: 5000 }),
  })
  return [response.status, await response.json()]
}
