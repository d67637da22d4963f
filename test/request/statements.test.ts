import { describe, expect, test } from 'vitest'
import { databases } from '../support/databases.ts'
import { hearStatements } from '../support/statements.ts'
import { createWorld, type World } from '../support/world.ts'

/** Carries out an operation once, after what it needs was made; gives the answer's status. */
type Operation = (world: World) => Promise<() => Promise<{ status: number; text: string }>>

const counterparty = { type: 'email', value: 'shop@example.com' }

async function authorized(world: World): Promise<string> {
  const answer = await world.authorize(await world.issueCard(), 1000)
  return answer.json.data.id
}

async function captured(world: World): Promise<string> {
  const id = await authorized(world)
  expect(
    (await world.post(`/simulations/card-transactions/${id}/capture`, { amount: 1000, currency: 'USD' })).status,
  ).toBe(200)
  return id
}

const operations: Record<string, Operation> = {
  issue_agent_card: async (world) => () =>
    world.post('/agent-cards', { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }),
  simulate_card_authorization: async (world) => {
    const cardId = await world.issueCard()
    return () => world.authorize(cardId, 1000)
  },
  simulate_card_capture: async (world) => {
    const id = await authorized(world)
    return () => world.post(`/simulations/card-transactions/${id}/capture`, { amount: 1000, currency: 'USD' })
  },
  simulate_card_reversal: async (world) => {
    const id = await authorized(world)
    return () => world.post(`/simulations/card-transactions/${id}/reverse`, {})
  },
  simulate_card_refund: async (world) => {
    const id = await captured(world)
    return () => world.post(`/simulations/card-transactions/${id}/refund`, { amount: 1000, currency: 'USD' })
  },
  freeze_agent_card: async (world) => {
    const cardId = await world.issueCard()
    return () => world.post(`/agent-cards/${cardId}/freeze`, undefined)
  },
  send_payment: async (world) => () => world.post('/payments', { amount: 100, currency: 'USD', counterparty }),
  create_payment_request: async (world) => () =>
    world.post('/payment-requests', { amount: 100, currency: 'USD', payer: counterparty, description: 'Lunch' }),
  create_wallet: async (world) => () => world.post('/wallets', { displayName: 'Savings' }, { key: world.apiKey }),
  get_agent_card: async (world) => {
    const cardId = await world.issueCard()
    return () => world.get(`/agent-cards/${cardId}`)
  },
}

describe.each(databases)('on $name', (database) => {
  test('no operation runs more statements than it did', async () => {
    const world = await createWorld(database, { keepsRuns: false })
    const counts: Record<string, number> = {}
    try {
      for (const [name, prepare] of Object.entries(operations)) {
        // The first call of an operation also reads what the process keeps afterwards.
        const first = await (await prepare(world))()
        expect(first.status, `${name}: ${first.text}`).toBeLessThan(300)
        const call = await prepare(world)
        const heard = hearStatements()
        try {
          expect((await call()).status).toBeLessThan(300)
        } finally {
          heard.stop()
        }
        counts[name] = heard.texts.length
        if (process.env.SHOW === name) console.log(heard.texts.map((t) => t.slice(0, 300)).join('\n'))
      }
    } finally {
      await world.drop()
    }
    console.log(JSON.stringify(counts))
  })
})
