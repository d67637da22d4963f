import { expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { postgres } from '../support/databases.ts'
import { addParty, createWorld } from '../support/world.ts'

const parties = 64
/** The number of purchases per party. Each purchase takes two requests. */
const purchasesPerParty = 157

test("no request fails while 64 parties issue and authorize within one second of the service's time", async () => {
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
