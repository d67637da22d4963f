import { describe, expect, test, vi } from 'vitest'
import { databases } from '../support/databases.ts'
import { recordStatements } from '../support/statements.ts'
import { createWorld, type World } from '../support/world.ts'

/** Creates the records that an operation needs. Returns a function that calls the operation. */
type Operation = (world: World) => Promise<() => Promise<{ status: number; text: string }>>

const counterparty = { type: 'email', value: 'shop@example.com' }

async function authorizePurchase(world: World): Promise<string> {
  const answer = await world.authorize(await world.issueCard(), 1000)
  return answer.json.data.id
}

async function capturePurchase(world: World): Promise<string> {
  const id = await authorizePurchase(world)
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
    const id = await authorizePurchase(world)
    return () => world.post(`/simulations/card-transactions/${id}/capture`, { amount: 1000, currency: 'USD' })
  },
  simulate_card_reversal: async (world) => {
    const id = await authorizePurchase(world)
    return () => world.post(`/simulations/card-transactions/${id}/reverse`, {})
  },
  simulate_card_refund: async (world) => {
    const id = await capturePurchase(world)
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

/** The expected number of SQL statements per call, not counting transaction control and the run log. */
const expectedCounts = {
  sqlite: {
    issue_agent_card: 7,
    simulate_card_authorization: 11,
    simulate_card_capture: 11,
    simulate_card_reversal: 12,
    simulate_card_refund: 12,
    freeze_agent_card: 8,
    send_payment: 16,
    create_payment_request: 14,
    create_wallet: 8,
    get_agent_card: 5,
  },
  // On PostgreSQL, a write has separate statements for locking the party and for reading the clock, but combines
  // several inserts into one statement. A read has one statement less: on SQLite, it also checks the clock's epoch.
  postgres: {
    issue_agent_card: 7,
    simulate_card_authorization: 11,
    simulate_card_capture: 11,
    simulate_card_reversal: 12,
    simulate_card_refund: 12,
    freeze_agent_card: 8,
    send_payment: 16,
    create_payment_request: 14,
    create_wallet: 8,
    get_agent_card: 4,
  },
}

/** The maximum average number of SQL statements per call, including those that write the run log. */
const maxAverage = { issue_agent_card: 11, simulate_card_authorization: 12 }

describe.each(databases)('SQL statements on $name', (database) => {
  test('each operation runs the expected number of SQL statements', async () => {
    const world = await createWorld(database, { keepsRuns: false })
    const expected: Record<string, number> = expectedCounts[database.name]
    const counts: Record<string, number> = {}
    try {
      for (const [name, prepare] of Object.entries(operations)) {
        // The first call is not counted, because it also reads data that the process then caches.
        const first = await (await prepare(world))()
        expect(first.status, `${name}: ${first.text}`).toBeLessThan(300)
        // Background statements, such as a heartbeat, may raise the count. If it is wrong, counts again, at most twice.
        for (let round = 0; round < 3 && counts[name] !== expected[name]; round += 1) {
          const call = await prepare(world)
          const statements = recordStatements()
          try {
            expect((await call()).status).toBeLessThan(300)
          } finally {
            statements.stop()
          }
          counts[name] = Math.min(counts[name] ?? statements.texts.length, statements.texts.length)
        }
      }
    } finally {
      await world.drop()
    }
    expect(counts).toEqual(expected)
  })

  test('an operation runs few SQL statements per call on average, including background writes', async () => {
    const averages: Record<string, number> = {}
    const names = Object.keys(maxAverage)
    for (const name of names) {
      const operation = operations[name] as Operation
      const world = await createWorld(database)
      const calls: (() => Promise<{ status: number }>)[] = []
      try {
        while (calls.length < 100) calls.push(await operation(world))
        await world.service.runLog.flush()
        // The run log usually writes 50 ms after an entry. With fake timers, it writes only when this test flushes it.
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
        const statements = recordStatements()
        try {
          for (const [index, call] of calls.entries()) {
            expect((await call()).status).toBe(200)
            if (index % 10 === 9) await world.service.runLog.flush()
          }
        } finally {
          statements.stop()
        }
        averages[name] = statements.texts.length / calls.length
      } finally {
        vi.useRealTimers()
        await world.drop()
      }
    }
    for (const [name, maximum] of Object.entries(maxAverage)) expect(averages[name], name).toBeLessThanOrEqual(maximum)
  })
})
