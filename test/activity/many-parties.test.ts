import { expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { postgres } from '../support/databases.ts'
import { addParty, createWorld } from '../support/world.ts'

const parties = 64
/** Each purchase takes two requests: one issues a card, the other authorizes an amount on it. */
const purchasesPerParty = 157

test('no request fails when 64 parties issue cards and make purchases while the clock stands still', async () => {
  const world = await createWorld(postgres, { keepsRuns: false })
  const buyers = await Promise.all(Array.from({ length: parties }, () => addParty(world, { fundsCents: 1_000_000 })))
  const statuses = new Map<number, number>()
  const count = ({ status }: { status: number }) => statuses.set(status, (statuses.get(status) ?? 0) + 1)
  const attributes = { merchant: { name: 'Books' }, maximumAmount: 100, currency: 'USD' }
  const buy = async (key: string) => {
    for (let made = 0; made < purchasesPerParty; made++) {
      const issued = await world.post('/agent-cards', attributes, { key })
      count(issued)
      count(await world.authorize(issued.json.data.id, 100, { key }))
    }
  }
  await Promise.all(buyers.map(({ agentKey }) => buy(agentKey)))
  expect([...statuses]).toEqual([[200, 2 * parties * purchasesPerParty]])
  const { transactions } = await proveBooks(world.store)
  expect(transactions).toHaveLength(parties * purchasesPerParty)
  await world.drop()
}, 3_600_000)
