import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { proveBooks } from './books.ts'

/** The number of simultaneous requests, which is much larger than the number of database connections. */
const many = isDeep ? 500 : 100

onEachDatabase('many simultaneous authorizations on one wallet', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  test(`the service answers health checks and other parties during ${many} authorizations`, async () => {
    const cards = await Promise.all(Array.from({ length: many }, () => world.issueCard()))
    const other = await addParty(world)
    let waiting = many
    const authorizations = cards.map(async (cardId) => {
      const { status } = await world.authorize(cardId, 100)
      waiting -= 1
      return status
    })
    const answers = [
      world.service.fetch(new Request('http://sandbox.test/healthz')),
      world.get('/wallets', { key: other.apiKey }),
      world.post(
        '/agent-cards',
        { merchant: { name: 'Books' }, maximumAmount: 1, currency: 'USD' },
        { key: other.agentKey },
      ),
    ].map(async (answer) => ({ status: (await answer).status, waiting }))
    for (const { status, waiting } of await Promise.all(answers)) {
      expect(status).toBe(200)
      // SQLite has one writer, which serves requests in order, so the authorizations may all end first.
      if (database.name === 'postgres') expect(waiting).toBeGreaterThan(0)
    }
    expect(await Promise.all(authorizations)).toEqual(Array(many).fill(200))
  })
})
