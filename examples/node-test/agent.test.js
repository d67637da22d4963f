import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createSandbox } from 'payments-mcp/testing'
import { createAgent } from './agent.js'

let sandbox
let agent

before(async () => {
  sandbox = await createSandbox()
  agent = await createAgent({ mcpUrl: sandbox.mcpUrl, key: sandbox.keys.agent })
})

beforeEach(() => sandbox.reset())

after(async () => {
  await agent.close()
  await sandbox.close()
})

const order = { merchant: 'Example Store', price: 4250, budget: 5000 }

test('the agent pays', async () => {
  assert.equal(await agent.buy(order), 'Paid $42.50 at Example Store.')
  assert.equal((await list('/card-transactions')).length, 1)
})

test('the agent reports why the card is declined', async () => {
  assert.match(await agent.buy({ ...order, price: 5001 }), /^Declined: /)
})

test('the agent gets only one card even if an answer of the server is lost', async () => {
  await sandbox.faults.set({
    operation: 'issue_agent_card',
    path: '/mcp',
    fault: 'effect_then_lost',
    when: { times: 1 },
  })
  assert.equal(await agent.buy(order), 'Paid $42.50 at Example Store.')
  assert.equal((await list('/agent-cards')).length, 1)
})

async function list(path) {
  const response = await sandbox.fetch(path, { headers: { Authorization: `Bearer ${sandbox.keys.agent}` } })
  return (await response.json()).data
}
